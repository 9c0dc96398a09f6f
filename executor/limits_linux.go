package executor

import (
	"errors"

	"github.com/sandbox-exec/sandbox-exec/classify"
	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// group waits for the control group of a run. A limit that was asked and cannot
// be had is an *UnavailableError.
func (e *Executor) group(s Spec, group *keeper.Group) error {
	err := group.Wait()
	var h *keeper.HelperError
	if errors.As(err, &h) {
		return &UnavailableError{Mode: s.Policy.Mode, Stage: h.Stage, Errno: h.Errno, Detail: h.Detail, Hint: limitsHint, cause: err}
	}
	if err != nil {
		return unavailable(s, "keeper", err)
	}
	return nil
}

const limitsHint = "control groups hold memory, processes and processors: run as root, have a subtree handed over to this user and name it as the cgroup parent, run where the user's systemd can be reached (XDG_RUNTIME_DIR), or do without these limits"

// held is what a plan reports of a run's control group.
func held(g *keeper.Group) confine.Group {
	return confine.Group{Limits: g.Limits(), Tree: g.Tree(), Guarded: g.Guarded(), Entrances: g.Entrances(), Why: g.Why()}
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
