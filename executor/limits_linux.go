package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/sandbox-exec/sandbox-exec/classify"
	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// errNoGroup is the cause of a control group that took longer than the command may.
var errNoGroup = errors.New("the control group was not made in time")

// group waits for the control group of a run. A limit that was asked and cannot
// be had is an *UnavailableError.
func (e *Executor) group(ctx context.Context, s Spec, group *keeper.Group) error {
	ctx, cancel := inTime(ctx, s, errNoGroup)
	defer cancel()
	err := group.Wait(ctx)
	var h *keeper.HelperError
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.As(err, &h):
		return &UnavailableError{Mode: s.Policy.Mode, Stage: h.Stage, Errno: h.Errno, Detail: h.Detail, Hint: limitsHint, cause: err}
	case errors.Is(err, errNoGroup):
		return unavailable(s, confine.LimitsStep, err)
	case cause != nil:
		return stopped(cause)
	}
	return unavailable(s, "keeper", err)
}

// inTime bounds what comes before the command by the time that the command has.
func inTime(ctx context.Context, s Spec, cause error) (context.Context, context.CancelFunc) {
	if s.Timeout <= 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, s.Timeout, cause)
}

func stopped(cause error) error { return fmt.Errorf("stopped before the command ran: %w", cause) }

const limitsHint = "control groups hold memory, processes and processors: run as root, have a subtree handed over to this user and name it as the cgroup parent, run where the user's systemd can be reached (XDG_RUNTIME_DIR), or do without these limits"

// held is what a plan reports of a run's control group.
func held(g *keeper.Group) confine.Group {
	return confine.Group{Limits: g.Limits(), Tree: g.Tree(), Guarded: g.Guarded(), Entrances: g.Entrances(), Why: g.Why(), Refused: g.Refused()}
}

// account adds what the command used and which limits it reached.
func (r *Result) account(p *keeper.Process) {
	r.Usage, r.Limits = p.Usage(), p.Reached()
	if left := p.GroupLeft(); left != nil {
		r.Warnings = append(r.Warnings, left.Error())
	}
}

// explained takes the possible denials out of the verdict where a limit that was
// reached explains the failure.
func (r *Result) explained() {
	if len(r.Limits) == 0 {
		return
	}
	var sure []fact.Denial
	for _, d := range r.Denials {
		if d.Verdict == fact.Denied {
			sure = append(sure, d)
		}
	}
	r.Denied = classify.Denied(r.Exit, sure)
}
