package keeper

import (
	"cmp"
	"fmt"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/confine"
)

// HelperError says that a command could not be started. It did not run.
type HelperError struct {
	// Stage is the name of the plan's step that failed, or "helper" where the
	// helper itself did.
	Stage string
	// Errno is what the kernel answered; zero where a call succeeded that had
	// to fail, or where there was no answer.
	Errno  syscall.Errno
	Detail string
}

func (e *HelperError) Error() string {
	if e.Errno == 0 {
		return fmt.Sprintf("%s: %s", e.Stage, e.Detail)
	}
	return fmt.Sprintf("%s: %s: %v", e.Stage, e.Detail, e.Errno)
}

// Unwrap returns the errno, where there is one.
func (e *HelperError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

func helperError(e event, plan *confine.Plan) error {
	h := &HelperError{Stage: "helper", Errno: e.Errno}
	switch {
	case e.Step == stepGroup, e.Step == stepNoAnswer && e.Group.tooTight() != "":
		h.Stage, h.Detail = confine.LimitsStep, cmp.Or(e.Group.tooTight(), e.Group.notJoined())
	case e.Step == stepSpawn:
		h.Detail = "it could not be started"
	case e.Step == stepNoAnswer:
		h.Detail = "it ended without an answer"
	case e.Step == stepBroker:
		h.Stage, h.Detail = "broker", "it could not be started"
	case e.Step < 0 || e.Step >= len(plan.Steps):
		h.Detail = "it could not read its plan"
	default:
		step := plan.Steps[e.Step]
		h.Stage, h.Detail = step.Name, step.Why
		if e.Errno == 0 {
			h.Detail = "a call succeeded that had to fail: " + step.Why
		}
	}
	return h
}
