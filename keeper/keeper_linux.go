package keeper

import (
	"context"
	"errors"
	"os"
	"sync"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/confine"
)

// Keeper is the caller's end of a keeper.
type Keeper struct {
	conn *conn
	// read is closed when the last event has been read.
	read chan struct{}

	mu   sync.Mutex
	next uint64
	runs map[uint64]*Process
	gone bool
}

// ErrGone says that the keeper ended while a run was under way, so that the
// run's end cannot be learned.
var ErrGone = errors.New("the keeper is gone")

// Start starts a keeper in this process. Close ends it.
func Start() (*Keeper, error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Dup(int(theirs.Fd()))
	theirs.Close()
	if err != nil {
		ours.close()
		return nil, err
	}
	syscall.CloseOnExec(fd)
	server, err := newConn(fd)
	if err != nil {
		ours.close()
		return nil, err
	}
	k := &Keeper{conn: ours, read: make(chan struct{}), runs: map[uint64]*Process{}}
	go serve(server)
	go k.events()
	return k, nil
}

// Close kills every run that is left, waits until all are reaped, and ends the
// keeper.
func (k *Keeper) Close() error {
	err := k.conn.finish()
	<-k.read
	k.conn.close()
	return err
}

// Process is one command under a keeper.
type Process struct {
	keeper *Keeper
	run    uint64
	begun  chan event    // one event: started or failed
	ended  chan struct{} // closed when end is set
	end    event
	endErr error
}

// Spawn starts the plan's command with the helper program at that path, and
// returns when the command runs. The error is a *HelperError where it could
// not be started, also when ctx ended first. The plan stays the caller's.
func (k *Keeper) Spawn(ctx context.Context, helper string, plan *confine.Plan) (*Process, error) {
	payload, err := plan.Payload()
	if err != nil {
		return nil, err
	}
	defer payload.Close()
	p, err := k.register()
	if err != nil {
		return nil, err
	}
	files := append([]*os.File{payload}, plan.Files...)
	if err := k.conn.send(request{Run: p.run, Op: opSpawn, Helper: helper}, files...); err != nil {
		k.forget(p.run)
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = p.Signal(syscall.SIGKILL) })
	defer stop()
	select {
	case e := <-p.begun:
		if e.Kind == failed {
			return nil, helperError(e, plan)
		}
		return p, nil
	case <-p.ended:
		return nil, p.endErr
	}
}

// Signal sends a signal to the command's process group. A command that ended
// gets none.
func (p *Process) Signal(sig syscall.Signal) error {
	return p.keeper.conn.send(request{Run: p.run, Op: opSignal, Signal: sig})
}

// Done is closed when the command has ended and what was left of its process
// group is killed.
func (p *Process) Done() <-chan struct{} { return p.ended }

// Status is how the command ended. It may be asked once Done is closed.
func (p *Process) Status() (syscall.WaitStatus, error) { return p.end.Status, p.endErr }

func (k *Keeper) register() (*Process, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.gone {
		return nil, ErrGone
	}
	k.next++
	p := &Process{keeper: k, run: k.next, begun: make(chan event, 1), ended: make(chan struct{})}
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
	if e.Kind == started {
		k.mu.Lock()
		p := k.runs[e.Run]
		k.mu.Unlock()
		if p != nil {
			p.begun <- e
		}
		return
	}
	p := k.forget(e.Run)
	if p == nil {
		return
	}
	if e.Kind == failed {
		p.begun <- e
		return
	}
	p.end = e
	if e.Errno != 0 {
		p.endErr = e.Errno
	}
	close(p.ended)
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
