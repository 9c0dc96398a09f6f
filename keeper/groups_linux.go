package keeper

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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

// makeGroup answers a group request.
func (s *server) makeGroup(req request) {
	var state groupState
	made, err := s.newGroup(groupPrefix+s.self.Next().String(), *orZero(req.Limits))
	s.own(req.Run, made, err)
	if err != nil {
		state.Refused = cut(err.Error())
		errors.As(err, &state.Errno)
	} else {
		state.Limits, state.Tree, state.Guarded = made.Limits(), made.Tree(), made.Guarded()
		for _, name := range made.Entrances() {
			state.Entrances = append(state.Entrances, []byte(name))
		}
		if why := made.Why(); why != nil {
			state.Why = cut(why.Error())
		}
	}
	s.tell(event{Run: req.Run, Kind: grouped, Group: &state})
}

// own gives a run its group, or why it has none.
func (s *server) own(id uint64, made *cgroups.Group, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.live[id]; err != nil {
		r.refused = err
	} else {
		r.group = &group{Group: made}
	}
}

// forget ends a run that gets no spawn, once its group is made. One that has a
// child ends by itself.
func (s *server) forget(id uint64) {
	s.mu.Lock()
	r := s.live[id]
	waiting := r != nil && !r.spawned
	s.mu.Unlock()
	if !waiting {
		return
	}
	r.made.Wait()
	s.leave(id)
	_ = r.group.remove()
}

// forgetAll ends the runs that wait for a spawn that cannot come any more. All
// groups that were asked for are made.
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

// groupOf is a run's group, or why what was asked of it cannot be held.
func (s *server) groupOf(id uint64) (*group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[id].group, s.live[id].refused
}

// errJoin says that a helper could not be started in its group.
var errJoin = errors.New("join the control group")

// startIn starts a helper in the run's group of version 2, where it has one.
// Where the kernel does not start it there it is moved: a filter may keep clone3
// away, as a container's often does, and moving takes other rights.
func (s *server) startIn(req request) (*child, error) {
	g, err := s.groupOf(req.Run)
	var dir *os.File
	if g != nil {
		dir, err = g.Open()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errJoin, err)
	}
	defer dir.Close() // a nil file answers ErrInvalid
	c, err := startHelper(req.Helper, s.options, dir, s.scope.member)
	if dir != nil && err != nil && !ofProgram(err, req.Helper) {
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

// ofProgram reports whether a program cannot be started in any group: the errors
// of its execution, which the runtime does not tell from those of the fork.
func ofProgram(err error, program string) bool {
	switch errnoOf(err) {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.ENAMETOOLONG, unix.ENOEXEC, unix.ETXTBSY, unix.E2BIG, unix.EIO, unix.ELIBBAD, unix.EISDIR:
		return true
	case unix.EACCES, unix.EPERM:
		return unix.Faccessat(unix.AT_FDCWD, program, unix.X_OK, unix.AT_EACCESS) != nil
	}
	return false
}

// move puts a helper into its group that could not be started there.
func (s *server) move(c *child, g *group) error {
	if err := g.Add(c.pid); err != nil {
		return fmt.Errorf("%w: %w", errJoin, errors.Join(err, c.discard()))
	}
	return nil
}

// notStarted is the event of a helper that did not start, or not in its group.
func notStarted(run uint64, err error) event {
	e := event{Run: run, Kind: failed, Step: stepSpawn, Errno: errnoOf(err)}
	if errors.Is(err, errJoin) {
		e.Step, e.Errno = stepGroup, 0
		errors.As(err, &e.Errno)
		e.Group = &groupState{Refused: cut(err.Error())}
	}
	return e
}

// last removes the run's group and sends its last event.
func (s *server) last(e event) {
	g, _ := s.groupOf(e.Run)
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
		e.Group.Left = cut(err.Error())
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
