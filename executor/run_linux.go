package executor

import (
	"context"
	"fmt"

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
	r, warnings, err := e.begin(ctx, s, foreground)
	if err != nil {
		return Result{Warnings: warnings}, err
	}
	defer r.streams.close()
	return r.end(ctx)
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
