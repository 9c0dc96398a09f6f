package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/confine/cgroups"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// groupPrefix begins the name of every control group of ours.
const groupPrefix = "sandbox-exec-"

// findGroups finds where groups are made, and removes those of dead owners. self
// is a name of this process.
func findGroups(self Name, parent string) (*cgroups.Host, error) {
	host, err := cgroups.Find(parent)
	if err != nil && parent != "" {
		return nil, &policy.InputError{What: "cgroup parent", Value: parent, Want: err.Error(), Err: err}
	}
	if err != nil {
		return cgroups.Nowhere(err), nil
	}
	// What cannot be removed is another's, or the next one's.
	_ = host.Sweep(func(name string) bool {
		rest, ours := strings.CutPrefix(name, groupPrefix)
		owner, valid := ParseName(rest)
		return ours && valid && owner.Dead(self)
	})
	return host, nil
}

// Group is the control group of one run, made before its plan is.
type Group struct {
	process *Process
	once    sync.Once
}

// Group asks for the control group of the next run, which is made meanwhile: Wait
// tells what came of it. Close ends what Spawn did not take.
func (k *Keeper) Group(l policy.Limits) (*Group, error) {
	p, err := k.register()
	if err != nil {
		return nil, err
	}
	p.grouped = make(chan struct{})
	if err := k.conn.send(request{Run: p.run, Op: opGroup, Limits: &l}); err != nil {
		k.forget(p.run)
		if errors.Is(err, syscall.EPIPE) {
			err = ErrGone
		}
		return nil, err
	}
	return &Group{process: p}, nil
}

// Wait waits until the group is made. The error is a *HelperError of LimitsStage
// where a limit cannot be held that was asked for, and nothing is left then.
// Without one there may be no group: the other methods tell.
func (g *Group) Wait() error {
	select {
	case <-g.process.grouped:
	case <-g.process.ended:
		return g.process.endErr
	}
	if refused := g.process.group.Refused; refused != "" {
		return &HelperError{Stage: LimitsStage, Errno: g.process.group.Errno, Detail: refused}
	}
	return nil
}

// Limits says which limits the group holds and by what; empty where none.
func (g *Group) Limits() string { return g.process.group.Limits }

// Tree says by what all members are killed; empty where there is no group.
func (g *Group) Tree() string { return g.process.group.Tree }

// Guarded reports whether all members die as well when this process is killed.
func (g *Group) Guarded() bool { return g.process.group.Guarded }

// Why says why there is no process limit; empty where there is one.
func (g *Group) Why() string { return g.process.group.Why }

// Entrances are files that the plan must have the command's thread write a 0 to:
// that puts it into the groups that it cannot be started in.
func (g *Group) Entrances() []string { return g.process.group.Entrances }

// Spawn is Keeper.Spawn for the run of this group.
func (g *Group) Spawn(ctx context.Context, helper string, plan *confine.Plan) (*Process, error) {
	if err := g.Wait(); err != nil {
		return nil, err
	}
	select {
	case <-g.process.ended: // with its keeper
		return nil, g.process.endErr
	default:
		return g.process.keeper.spawn(ctx, g.process, helper, plan)
	}
}

// Close removes the group where no command was started in it, and else does
// nothing: it is then removed at the command's end.
func (g *Group) Close() {
	g.once.Do(func() {
		k := g.process.keeper
		if k.forget(g.process.run) != nil {
			_ = k.conn.send(request{Run: g.process.run, Op: opForget})
		}
	})
}

// drop forgets a run whose spawn was not sent. One with a group is its Group's to
// close.
func (k *Keeper) drop(p *Process) {
	if p.grouped == nil {
		k.forget(p.run)
	}
}

// Usage is what the command used. It may be asked once Done is closed.
func (p *Process) Usage() fact.Usage { return p.endGroup().Usage }

// Reached lists the limits that the command reached. It may be asked once Done is
// closed.
func (p *Process) Reached() []fact.Limit { return p.endGroup().Reached }

// GroupLeft is why the run's control group could not be removed, or was gone too
// soon; nil where neither, or where there was none. It may be asked once Done is closed.
func (p *Process) GroupLeft() error {
	if left := p.endGroup().Left; left != "" {
		return errors.New(left)
	}
	return nil
}

func (p *Process) endGroup() groupState {
	if p.end.Group == nil {
		return groupState{}
	}
	return *p.end.Group
}

// groups is where control groups are made, and by what name.
type groups struct {
	host *cgroups.Host
	self Name // of this process
}

// group is the keeper's side of a run's control group. A nil one is none.
type group struct {
	*cgroups.Group
	killed int
	empty  atomic.Bool // all members are dead, and nobody can come
}

func orZero(l *policy.Limits) *policy.Limits {
	if l == nil {
		return &policy.Limits{}
	}
	return l
}

// prepareGroup has a group request answered. systemd may take its time; what
// else is requested does not wait for it.
func (s *server) prepareGroup(req request) {
	if s.needsScope(*orZero(req.Limits)) {
		s.runs.Go(func() { s.makeGroup(req) })
		return
	}
	s.makeGroup(req)
}

// makeGroup answers a group request.
func (s *server) makeGroup(req request) {
	var state groupState
	made, err := s.newGroup(groupPrefix+s.self.Next().String(), *orZero(req.Limits))
	if err != nil {
		state.Refused = fmt.Sprint(err)
		errors.As(err, &state.Errno)
	} else if !s.own(req.Run, made) {
		_ = made.Delete(cgroups.Patience)
		return
	} else {
		state.Limits, state.Tree, state.Entrances = made.Limits(), made.Tree(), made.Entrances()
		state.Guarded = made.Guarded()
		if why := made.Why(); why != nil {
			state.Why = why.Error()
		}
	}
	s.tell(event{Run: req.Run, Kind: grouped, Group: &state})
}

// forget ends a run that gets no spawn. One that has a child ends by itself.
func (s *server) forget(id uint64) {
	s.mu.Lock()
	r := s.live[id]
	waiting := r != nil && !r.spawned
	if waiting {
		delete(s.live, id)
	}
	s.mu.Unlock()
	if waiting {
		_ = r.group.remove()
	}
}

// forgetAll ends the runs that wait for a spawn that cannot come any more.
func (s *server) forgetAll() {
	s.mu.Lock()
	var waiting []uint64
	for id := range s.live {
		waiting = append(waiting, id)
	}
	s.mu.Unlock()
	for _, id := range waiting {
		s.forget(id)
	}
}

// own gives a group to its run; false where that was forgotten meanwhile.
func (s *server) own(id uint64, g *cgroups.Group) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.live[id]
	if r != nil {
		r.group = &group{Group: g}
	}
	return r != nil
}

func (s *server) groupOf(id uint64) *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id].group
}

// errJoin says that a helper could not be started in its group.
var errJoin = errors.New("join the control group")

// startIn starts a helper in the run's group of version 2, where it has one.
// Where a filter keeps clone3 away, as a container's often does, it is moved.
func (s *server) startIn(req request) (*child, error) {
	g := s.groupOf(req.Run)
	var dir *os.File
	var err error
	if g != nil {
		dir, err = g.Open()
	}
	if err != nil {
		return nil, errors.Join(errJoin, err)
	}
	defer dir.Close() // a nil file answers ErrInvalid
	c, err := startHelper(req.Helper, s.options, dir, s.scope.member)
	if dir != nil && (errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL)) {
		c, err = startHelper(req.Helper, s.options, nil, s.scope.member)
		if err == nil {
			err = s.move(c, g)
		}
	}
	if err == nil {
		c.group = g
	}
	return c, err
}

// move puts a helper into its group that could not be started there.
func (s *server) move(c *child, g *group) error {
	if err := g.Add(c.pid); err != nil {
		return errors.Join(errJoin, err, c.discard())
	}
	return nil
}

// notStarted is the event of a helper that did not start, or not in its group.
func notStarted(run uint64, err error) event {
	e := event{Run: run, Kind: failed, Step: stepSpawn, Errno: errnoOf(err)}
	if errors.Is(err, errJoin) {
		e.Step, e.Errno = stepGroup, 0
		errors.As(err, &e.Errno)
		e.Group = &groupState{Refused: err.Error()}
	}
	return e
}

// last removes the run's group and sends its last event.
func (s *server) last(e event) {
	g := s.groupOf(e.Run)
	if e.Group == nil {
		e.Group = &groupState{}
	}
	if g != nil && e.Kind == failed {
		e.Group.Reached = g.Reached()
	}
	err := g.remove()
	if g != nil && g.Inside() != "" {
		err = errors.Join(err, s.scope.lost())
	}
	if err != nil {
		e.Group.Left = err.Error()
	}
	s.tell(e)
}

func (g *group) remove() error {
	if g == nil {
		return nil
	}
	return g.Delete(cgroups.Patience)
}

// signal sends to the members, whatever group they are in; those of the leader's
// process group have theirs already. It is false where there is no group.
func (g *group) signal(leader int, sig syscall.Signal) bool {
	if g == nil || g.Tree() == "" {
		return false
	}
	if g.empty.Load() {
		return true
	}
	if sig == unix.SIGKILL {
		g.Strike()
		return true
	}
	g.Signal(sig, func(pid int) bool {
		pgid, err := unix.Getpgid(pid)
		return pid == leader || err == nil && pgid == leader
	})
	return true
}

// kill kills what the leader left behind.
func (g *group) kill() error {
	if g == nil {
		return nil
	}
	var err error
	g.killed, err = g.Kill(cgroups.Patience)
	g.empty.Store(err == nil)
	return err
}

// count adds what the command used to its last event. rusage is of the leader
// and of all that was waited for (getrusage(2)).
func (g *group) count(e *event, rusage syscall.Rusage) {
	e.Group = &groupState{Usage: usage(rusage)}
	if g == nil {
		return
	}
	g.Usage(&e.Group.Usage)
	e.Group.Reached = g.Reached()
	e.Leftover = max(e.Leftover, g.killed)
}

func usage(r syscall.Rusage) fact.Usage {
	const unit = 1024 // ru_maxrss is in KiB
	return fact.Usage{
		User:   time.Duration(r.Utime.Nano()),
		System: time.Duration(r.Stime.Nano()),
		MaxRSS: uint64(r.Maxrss) * unit,
	}
}
