package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/keeper"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Run runs the spec's command and returns when it has ended and its output is
// read. When ctx ends or the timeout is over, the command's process group gets
// SIGTERM, and SIGKILL after the grace time; the result then says so. It says
// Aborted as well where Close ended the command.
//
// Where there is an error the command did not run, and nothing of the Result but
// its warnings counts: an *UnavailableError where it could not be confined as
// asked, a *StartError where its program could not be executed, the context's
// cause where that ended first. Or, with ErrUnkillable and ErrEndUnknown, it ran
// and its end is not known, and the Result has all but that.
func (e *Executor) Run(ctx context.Context, s Spec) (Result, error) {
	known := e.taken.Load()
	result, err := e.once(ctx, s)
	if !known && e.foundTaken(err) {
		return e.once(ctx, s)
	}
	return result, err
}

func (e *Executor) once(ctx context.Context, s Spec) (Result, error) {
	group, err := e.keeper.Group(s.Policy.Limits) // made beside what follows
	if err != nil {
		return Result{}, unavailable(s, "keeper", err)
	}
	defer group.Close()
	dir, err := e.state.makeRun()
	if err != nil {
		return Result{}, unavailable(s, "state", err)
	}
	result, err := e.runIn(ctx, s, dir, group)
	if left := e.state.removeRun(dir); left != nil {
		result.Warnings = append(result.Warnings, left.Error()+"; it is removed when this process has ended")
	}
	return result, err
}

// errUnresolved refuses a Spec that somebody made by hand.
var errUnresolved = errors.New("the Spec was not made by Resolve")

// runIn is a run with its directory.
func (e *Executor) runIn(ctx context.Context, s Spec, dir runDir, group *keeper.Group) (Result, error) {
	streams, err := openStreams(s)
	if err != nil {
		return Result{}, unavailable(s, "streams", err)
	}
	defer streams.close()
	if err := e.group(ctx, s, group); err != nil {
		return Result{}, err
	}
	plan, err := e.prepare(s, dir, streams, group)
	if err != nil {
		return Result{}, err
	}
	defer plan.Close()
	begin := time.Now()
	process, err := e.start(ctx, s, plan, group)
	if err != nil {
		return Result{}, err
	}
	streams.start()
	cause, err := supervise(ctx, s, process)
	result := Result{Duration: time.Since(begin), Timeout: s.Timeout, Report: plan.Report, Scrubbed: s.Scrubbed}
	streams.drain(cause.drain(ctx, s.Grace))
	result.Stdout, result.Stderr = streams.stdout.output(), streams.stderr.output()
	if err = errors.Join(err, result.collect(process, cause)); err == nil {
		judge(&result, s, plan)
		result.explained()
	}
	return result, err
}

// collect adds how the command ended. One that was not to be killed has not.
func (r *Result) collect(p *keeper.Process, c cause) error {
	r.Exit = fact.Exit{TimedOut: c == byTimeout, Aborted: c == byCaller}
	select {
	case <-p.Done():
	default:
		return nil
	}
	status, err := p.Status()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEndUnknown, err)
	}
	r.Exit = exit(status, c)
	r.collectBroker(p)
	r.account(p)
	var survived error
	if r.Leftover, survived = p.Leftover(); survived != nil {
		r.Warnings = append(r.Warnings, survived.Error())
		r.Report = r.Report.Broken(policy.PromiseTree, survived.Error())
	}
	return nil
}

// collectBroker adds what the broker refused, and what became of it.
func (r *Result) collectBroker(p *keeper.Process) {
	var dropped int
	if r.Denials, dropped = p.Refused(); dropped > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("at least %d more changes of metadata were refused than are listed", dropped))
	}
	if failed := p.Broker(); failed != "" {
		r.Warnings = append(r.Warnings, failed)
		r.Report = r.Report.Fell(policy.PromiseMetadata, "all changes were refused: "+failed)
	}
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

// prepare makes the plan, and refuses one that holds less than is required.
func (e *Executor) prepare(s Spec, dir runDir, streams *streams, group *keeper.Group) (*confine.Plan, error) {
	plan, err := e.plan(s, dir, streams, group)
	if err != nil {
		return nil, err
	}
	if err := demand(s, plan.Report); err != nil {
		plan.Close()
		return nil, err
	}
	return plan, nil
}

// plan makes the plan of a run in that directory.
func (e *Executor) plan(s Spec, dir runDir, streams *streams, group *keeper.Group) (*confine.Plan, error) {
	if s.Program == "" {
		return nil, errUnresolved
	}
	plan, err := confine.Prepare(e.job(s, dir, streams, group))
	if err != nil {
		return nil, unavailable(s, "prepare", err)
	}
	return plan, nil
}

func (e *Executor) job(s Spec, dir runDir, streams *streams, group *keeper.Group) confine.Job {
	env := s.Env
	if _, given := find(env, "TMPDIR"); !given {
		env = append(env[:len(env):len(env)], "TMPDIR="+dir.scratch())
	}
	return confine.Job{
		Policy: s.Policy, Program: s.Program, Argv: s.Argv, Env: env, Dir: s.Dir,
		Scratch: dir.scratch(), Proof: dir.proof(), Tree: e.keeper.Tree(), Broker: e.broker(), Group: held(group),
		Stdin: streams.childIn, Stdout: streams.childOut, Stderr: streams.childErr,
	}
}

// errNoAnswer is the cause of a start that took longer than the command may.
var errNoAnswer = errors.New("the helper did not answer in time")

// start starts the command. The timeout bounds this as well: a helper that is
// the wrong program may never answer.
func (e *Executor) start(ctx context.Context, s Spec, plan *confine.Plan, group *keeper.Group) (*keeper.Process, error) {
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
