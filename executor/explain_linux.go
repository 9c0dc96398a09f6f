package executor

import (
	"context"
	"errors"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// Explain returns the plan that Run would have carried out for the spec. Nothing
// runs. Where a limit that was asked cannot be held, with which Run would have
// failed, the report says so and why. The plan is closed: it can be read and not executed. Its scratch
// directory and control group were made for it and are gone again.
func (e *Executor) Explain(s Spec) (*confine.Plan, error) {
	dir, err := e.state.makeRun()
	if err != nil {
		return nil, unavailable(s, "state", err)
	}
	plan, err := e.planIn(s, dir)
	return plan, errors.Join(err, e.state.removeRun(dir))
}

func (e *Executor) planIn(s Spec, dir runDir) (*confine.Plan, error) {
	streams, err := e.openStreams(s, foreground)
	if err != nil {
		return nil, unavailable(s, "streams", err)
	}
	defer streams.close()
	group, err := e.keeper.Group(s.Policy.Limits)
	if err != nil {
		return nil, unavailable(s, "keeper", err)
	}
	defer group.Close()
	var refused *keeper.HelperError
	if err := e.group(context.Background(), s, group); err != nil && !errors.As(err, &refused) {
		return nil, err
	}
	plan, err := e.plan(s, dir, streams, group)
	if err != nil {
		return nil, err
	}
	plan.Close()
	return plan, nil
}
