package executor

import (
	"context"
	"fmt"
	"time"

	"github.com/sandbox-exec/sandbox-exec/confine"
)

// Run runs the spec's command and returns when it has ended and its output is
// read. When ctx ends or the timeout is over, the command's process group gets
// SIGTERM, and SIGKILL after the grace time; the result then says so.
//
// The error is an *UnavailableError where the command could not be confined as
// asked, a *StartError where its program could not be executed, the context's
// cause where that ended before the command ran, and keeper.ErrGone where the
// command's end could not be learned.
func (e *Executor) Run(ctx context.Context, s Spec) (Result, error) {
	scratch, err := e.state.makeScratch()
	if err != nil {
		return Result{}, unavailable(s, "scratch", err)
	}
	result, err := e.runIn(ctx, s, scratch)
	if left := e.state.removeScratch(scratch); left != nil {
		result.Warnings = append(result.Warnings, left.Error()+"; it is removed when this process has ended")
	}
	return result, err
}

func (e *Executor) runIn(ctx context.Context, s Spec, scratch string) (Result, error) {
	streams, err := openStreams(s)
	if err != nil {
		return Result{}, unavailable(s, "streams", err)
	}
	defer streams.close()
	if err := e.state.layProof(); err != nil {
		return Result{}, unavailable(s, "state", err)
	}
	plan, err := confine.Prepare(e.job(s, scratch, streams))
	if err != nil {
		return Result{}, unavailable(s, "prepare", err)
	}
	defer plan.Close()
	if err := demand(s, plan.Report); err != nil {
		return Result{}, err
	}
	begin := time.Now()
	process, err := e.keeper.Spawn(ctx, e.helper, plan)
	if err != nil && ctx.Err() != nil {
		return Result{}, fmt.Errorf("stopped before the command ran: %w", context.Cause(ctx))
	}
	if err != nil {
		return Result{}, spawnError(s, err)
	}
	streams.start()
	cause := supervise(ctx, s, process)
	status, err := process.Status()
	if err != nil {
		return Result{}, fmt.Errorf("learn how the command ended: %w", err)
	}
	duration := time.Since(begin)
	streams.drain(giveUp(ctx, cause), s.Grace)
	result := Result{
		Exit: exit(status, cause), Duration: duration, Timeout: s.Timeout,
		Stdout: streams.stdout.output(), Stderr: streams.stderr.output(),
		Report: plan.Report, Scrubbed: s.Scrubbed,
	}
	judge(&result, s, plan)
	return result, nil
}

func (e *Executor) job(s Spec, scratch string, streams *streams) confine.Job {
	env := s.Env
	if lookup(env, "TMPDIR") == "" {
		env = append(env[:len(env):len(env)], "TMPDIR="+scratch)
	}
	return confine.Job{
		Policy: s.Policy, Program: s.Program, Argv: s.Argv, Env: env, Dir: s.Dir,
		Scratch: scratch, Proof: e.state.proof(),
		Stdin: streams.childIn, Stdout: streams.childOut, Stderr: streams.childErr,
	}
}
