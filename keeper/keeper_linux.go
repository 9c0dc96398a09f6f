package keeper

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/keeper/broker"
)

// Keeper is the caller's end of a keeper.
type Keeper struct {
	conn *conn
	// read is closed when the last event has been read.
	read chan struct{}
	// tree is why the keeper does not own all descendants of its process; nil
	// where it does.
	tree error
	// broker is why commands get no broker; nil where they do. around is what
	// judges this process's own calls.
	broker error
	around broker.Around
	// closing says that Close was called.
	closing atomic.Bool

	mu   sync.Mutex
	next uint64
	runs map[uint64]*Process
	gone bool
}

// ErrGone says that the keeper ended while a run was under way, so that the
// run's end cannot be learned.
var ErrGone = errors.New("the keeper is gone")

// ErrSurvived says that something of a command could not be killed.
var ErrSurvived = errors.New("what the command left behind could not all be killed, and may run on")

// Options is what a keeper may assume. The zero value assumes nothing.
type Options struct {
	// OwnTree says that this process starts no other processes, and one command
	// at a time. It becomes a sub-reaper where it can, and at a command's end
	// every descendant that is left is killed.
	OwnTree bool
	// CgroupParent is a control group, by its absolute directory, below which runs
	// get theirs: a subtree that was handed over. Empty is wherever this process
	// finds that it may make groups.
	CgroupParent string
	// Environ is where the user's bus is looked up, as os.Environ gives it: by
	// XDG_RUNTIME_DIR and DBUS_SESSION_BUS_ADDRESS. Nothing else of it is used.
	Environ []string
}

// Start starts a keeper in this process. Close ends it.
func Start(o Options) (*Keeper, error) {
	self, err := NewName()
	if err != nil {
		return nil, fmt.Errorf("name this process: %w", err)
	}
	host, err := findGroups(self, o.CgroupParent)
	if err != nil {
		return nil, err
	}
	return startWith(o, groups{host, self})
}

func startWith(o Options, g groups) (*Keeper, error) {
	tree := errors.New("only the process group is killed: a process that leaves it survives")
	if o.OwnTree {
		tree = ownTree()
		o.OwnTree = tree == nil
	}
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	server, err := newConn(theirs)
	if err != nil {
		ours.close()
		return nil, err
	}
	k := &Keeper{conn: ours, tree: tree, around: broker.LookAround(), read: make(chan struct{}), runs: map[uint64]*Process{}}
	threads, err := brokerThreads(k.around)
	k.broker = err
	go serve(server, o, g, threads)
	go k.events()
	return k, nil
}

// Tree says why a command's whole tree is not killed with it; nil where it is.
func (k *Keeper) Tree() error { return k.tree }

// Close kills every run that is left, waits until all are reaped, and ends the
// keeper. It waits EndPatience at the most for what cannot be killed.
func (k *Keeper) Close() error {
	if k.closing.Swap(true) {
		<-k.read
		return nil
	}
	err := k.conn.finish()
	<-k.read
	k.conn.close()
	return err
}

// Process is one command under a keeper.
type Process struct {
	keeper *Keeper
	run    uint64
	begun  chan struct{} // closed when begin is set: started or failed
	begin  event
	ended  chan struct{} // closed when end is set
	end    event
	endErr error
	facts  []fact.Denial
	late   bool // killUnlessBegun was called

	grouped chan struct{} // closed when group is set; nil where none was asked for
	group   groupState
}

// Spawn starts the plan's command with the helper program at that path, and
// returns when the command runs. The error is a *HelperError where it could
// not be started, also when ctx ended first. The plan stays the caller's.
func (k *Keeper) Spawn(ctx context.Context, helper string, plan *confine.Plan) (*Process, error) {
	p, err := k.register()
	if err != nil {
		return nil, err
	}
	if err := p.request(helper, plan); err != nil {
		k.forget(p.run)
		return nil, err
	}
	return p.await(ctx, plan)
}

// request asks for the start of the plan's command.
func (p *Process) request(helper string, plan *confine.Plan) error {
	payload, err := plan.Payload()
	if err != nil {
		return err
	}
	defer payload.Close()
	req := request{Run: p.run, Op: opSpawn, Helper: helper, Asks: plan.Asks()}
	files := append([]*os.File{payload}, plan.Files...)
	if req.Asks {
		req.Roots, req.Private = len(plan.Roots), plan.Private
		files = append(files, plan.Roots...)
	}
	err = p.keeper.conn.send(req, files...)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return ErrGone
	}
	return err
}

// await waits until the command runs.
func (p *Process) await(ctx context.Context, plan *confine.Plan) (*Process, error) {
	stop := context.AfterFunc(ctx, p.killUnlessBegun)
	defer func() { p.late = !stop() }()
	select {
	case <-p.begun:
	case <-p.ended: // perhaps begun as well
	}
	return p.opened(plan)
}

func (p *Process) killUnlessBegun() {
	select {
	case <-p.begun:
	default:
		_ = p.Signal(syscall.SIGKILL)
	}
}

// Late reports whether the command may have been killed because its start took too
// long, and had begun after all. It may be asked once Done is closed.
func (p *Process) Late() bool {
	return p.late && p.end.Status.Signaled() && p.end.Status.Signal() == syscall.SIGKILL
}

// opened tells how the run began. Of two events that came the first counts.
func (p *Process) opened(plan *confine.Plan) (*Process, error) {
	select {
	case <-p.begun:
	default:
		return nil, p.endErr
	}
	if p.begin.Kind == failed {
		return nil, helperError(p.begin, plan)
	}
	return p, nil
}

// Signal sends a signal to the command's process group. A command that ended
// gets none.
func (p *Process) Signal(sig syscall.Signal) error {
	return p.keeper.conn.send(request{Run: p.run, Op: opSignal, Signal: sig})
}

// Done is closed when the command has ended and what was left of its process
// group is killed.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Closed reports whether Close has ended, or may have ended, the command. It
// may be asked once Done is closed.
func (p *Process) Closed() bool {
	return p.keeper.closing.Load() && p.end.Status.Signaled() && p.end.Status.Signal() == syscall.SIGKILL
}

// Leftover is how many processes the command left behind that were killed at
// its end, and an error where one could not be. It may be asked once Done is
// closed; without OwnTree and without a control group it is unknown and zero.
func (p *Process) Leftover() (int, error) {
	if p.end.Survived {
		return p.end.Leftover, ErrSurvived
	}
	return p.end.Leftover, nil
}

// Refused lists what the broker refused to the command, each once, and how many
// refusals more there were than are kept. It may be asked once Done is closed.
func (p *Process) Refused() (facts []fact.Denial, dropped int) { return p.facts, p.end.Dropped }

// Broker is why the broker ended before the command did, from when on its calls
// were refused without a look; empty where it did not. It may be asked once Done
// is closed.
func (p *Process) Broker() string { return p.end.Broker }

// Status is how the command ended. It may be asked once Done is closed.
func (p *Process) Status() (syscall.WaitStatus, error) { return p.end.Status, p.endErr }

func (k *Keeper) register() (*Process, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone {
		return nil, ErrGone
	}
	k.next++
	p := &Process{keeper: k, run: k.next, begun: make(chan struct{}), ended: make(chan struct{})}
	k.runs[p.run] = p
	return p, nil
}

func (k *Keeper) forget(run uint64) *Process {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.runs[run]
	delete(k.runs, run)
	return p
}

// events hands each event to its run until the keeper ends.
func (k *Keeper) events() {
	defer close(k.read)
	for {
		var e event
		files, err := k.conn.receive(&e)
		closeAll(files)
		if err != nil {
			k.abandon()
			return
		}
		k.dispatch(e)
	}
}

func (k *Keeper) dispatch(e event) {
	p := k.find(e)
	if p == nil {
		return
	}
	switch e.Kind {
	case grouped:
		p.group = *e.Group
		close(p.grouped)
	case refused:
		e.Fact.Path = string(e.Path)
		p.facts = append(p.facts, *e.Fact)
	case exited:
		p.end = e
		if e.Errno != 0 {
			p.endErr = e.Errno
		}
		close(p.ended)
	default:
		p.begin = e
		close(p.begun)
	}
}

// find is the run of an event. After its last event it is forgotten.
func (k *Keeper) find(e event) *Process {
	if e.Kind == failed || e.Kind == exited {
		return k.forget(e.Run)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.runs[e.Run]
}

// abandon ends every run whose end was not told.
func (k *Keeper) abandon() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.gone = true
	for run, p := range k.runs {
		p.endErr = ErrGone
		close(p.ended)
		delete(k.runs, run)
	}
}
