package keeper

import (
	"context"
	"errors"
	"sync"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Group is the control group of one run, made before its plan is.
type Group struct {
	process *Process

	mu sync.Mutex
	// taken says that the run is not the group's to end any more: its spawn was
	// sent, or Close was called.
	taken bool
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

// Wait waits until the group is made, or ctx ends: the error is then its cause.
// It is a *HelperError of the stage confine.LimitsStep where a limit cannot be held
// that was asked for, and nothing is left then. Without an error there may be no
// group: the other methods tell.
func (g *Group) Wait(ctx context.Context) error {
	select {
	case <-g.process.grouped:
	case <-g.process.ended:
		return g.process.endErr
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if refused := g.process.group.Refused; refused != "" {
		return &HelperError{Stage: confine.LimitsStep, Errno: g.process.group.Errno, Detail: refused}
	}
	return nil
}

// The methods below may be asked once Wait has told of a group, or of its refusal.

// Refused says which limit cannot be held that was asked for, and why; empty where
// all can.
func (g *Group) Refused() string { return g.process.group.Refused }

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
func (g *Group) Entrances() []string {
	var names []string
	for _, name := range g.process.group.Entrances {
		names = append(names, string(name))
	}
	return names
}

// errTaken is of a Group that has no run any more.
var errTaken = errors.New("the control group had its command, or was closed")

// Spawn is Keeper.Spawn for the run of this group, once. Where the group was
// refused nothing is started.
func (g *Group) Spawn(ctx context.Context, helper string, plan *confine.Plan) (*Process, error) {
	if err := g.request(helper, plan); err != nil {
		return nil, err
	}
	return g.process.await(ctx, plan)
}

func (g *Group) request(helper string, plan *confine.Plan) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.taken {
		return errTaken
	}
	select {
	case <-g.process.ended: // with its keeper
		return g.process.endErr
	default:
	}
	err := g.process.request(helper, plan)
	g.taken = err == nil
	return err
}

// Close removes the group where no command was started in it, and else does
// nothing: it is then removed at the command's end.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.taken {
		return
	}
	g.taken = true
	k := g.process.keeper
	if k.forget(g.process.run) != nil {
		_ = k.conn.send(request{Run: g.process.run, Op: opForget})
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
