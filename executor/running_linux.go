package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// running is a command that was started, with all that lives as long as it.
type running struct {
	executor *Executor
	spec     Spec
	group    *keeper.Group // closed when the run is over: that forgets the run
	dir      runDir
	streams  *streams
	plan     *confine.Plan // after the start only what it grants and reports
	process  *keeper.Process
	begun    time.Time
}

// begin starts a command. Where there is an error nothing has run and nothing is
// left but what the warnings tell.
func (e *Executor) begin(ctx context.Context, s Spec, k kind) (*running, []string, error) {
	known := e.taken.Load()
	r, warnings, err := e.try(ctx, s, k)
	if !known && e.foundTaken(err) {
		return e.try(ctx, s, k)
	}
	return r, warnings, err
}

func (e *Executor) try(ctx context.Context, s Spec, k kind) (*running, []string, error) {
	group, err := e.keeper.Group(s.Policy.Limits) // made beside what follows
	if err != nil {
		return nil, nil, unavailable(s, "keeper", err)
	}
	r := &running{executor: e, spec: s, group: group}
	if r.dir, err = e.state.makeRun(); err != nil {
		group.Close()
		return nil, nil, unavailable(s, "state", err)
	}
	if r.streams, err = e.openStreams(s, k); err != nil {
		return nil, r.remove(), unavailable(s, "streams", err)
	}
	if err := r.start(ctx); err != nil {
		r.streams.close()
		return nil, r.remove(), err
	}
	return r, nil, nil
}

// errUnresolved refuses a Spec that somebody made by hand.
var errUnresolved = errors.New("the Spec was not made by Resolve")

func (r *running) start(ctx context.Context) (err error) {
	if err := r.executor.group(ctx, r.spec, r.group); err != nil {
		return err
	}
	if r.plan, err = r.executor.prepare(r.spec, r.dir, r.streams, r.group); err != nil {
		return err
	}
	defer r.forget()
	r.begun = time.Now()
	if r.process, err = r.executor.spawn(ctx, r.spec, r.plan, r.group); err == nil {
		r.streams.start()
	}
	return err
}

// forget keeps of the plan what the end needs. Its steps are some 30 kB, and a task
// may live long.
func (r *running) forget() {
	r.plan.Close()
	r.plan = &confine.Plan{Report: r.plan.Report, Rules: r.plan.Rules}
}

// end waits for the command's end, or brings it about, and tells all about it.
func (r *running) end(ctx context.Context) (Result, error) {
	result, cause, err := r.settle(ctx)
	if err = errors.Join(err, result.collect(r.process, cause)); err == nil {
		judge(&result, r.spec, r.plan)
		result.explained()
	}
	result.Warnings = append(result.Warnings, r.remove()...)
	return result, err
}

// settle gives all that is known without the keeper.
func (r *running) settle(ctx context.Context) (Result, cause, error) {
	cause, err := supervise(ctx, r.spec, r.process)
	result := r.known()
	result.Duration = time.Since(r.begun)
	r.streams.drain(cause.drain(ctx, r.spec.Grace))
	result.Stdout, result.Stderr = r.streams.stdout.output(), r.streams.stderr.output()
	return result, cause, err
}

// known is what is known of a command from its start.
func (r *running) known() Result {
	return Result{Timeout: r.spec.Timeout, Report: r.plan.Report, Scrubbed: r.spec.Scrubbed}
}

// remove removes the run's group, where nothing was started in it, and directory.
func (r *running) remove() (warnings []string) {
	r.group.Close()
	if left := r.executor.state.removeRun(r.dir); left != nil {
		return []string{left.Error() + "; it is removed when this process has ended"}
	}
	return nil
}

// foundTaken reports whether a run failed because a filter around this process
// has the one listener there can be. That shows only in the helper; nothing has
// run, and the run is tried again without a broker.
func (e *Executor) foundTaken(err error) bool {
	var u *UnavailableError
	if !errors.As(err, &u) || u.Stage != confine.FilterStep || u.Errno != unix.EBUSY {
		return false
	}
	e.taken.Store(true)
	return true
}

// errTaken is why there is no broker inside another program's listener.
var errTaken = fmt.Errorf("a filter around this process has a listener already, and the kernel allows one: %w", unix.EBUSY)

func (e *Executor) broker() confine.Broker {
	b := e.keeper.Broker()
	if b.Missing == nil && e.taken.Load() {
		b.Missing = errTaken
	}
	return b
}

// errNoAnswer is the cause of a start that took longer than the command may.
var errNoAnswer = errors.New("the helper did not answer in time")

// spawn starts the command. The timeout bounds this as well: a helper that is
// the wrong program may never answer.
func (e *Executor) spawn(ctx context.Context, s Spec, plan *confine.Plan, group *keeper.Group) (*keeper.Process, error) {
	ctx, cancel := inTime(ctx, s, errNoAnswer)
	defer cancel()
	process, err := group.Spawn(ctx, e.helper, plan)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return process, nil
	case errors.Is(cause, errNoAnswer):
		return nil, unavailable(s, "helper", cause)
	case cause != nil:
		return nil, stopped(cause)
	}
	return nil, spawnError(s, err)
}
