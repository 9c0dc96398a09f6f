package executor

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/keeper"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// demand refuses a run that would hold less than was required.
func demand(s Spec, r fact.Report) error {
	var lacking []policy.Promise
	var what string
	switch s.Require {
	case "":
		return nil
	case policy.RequireEnforced:
		lacking, what = append(r.Missing(), r.Closed()...), "not enforced as promised"
	default:
		lacking, what = r.Missing(), "not enforced"
	}
	if len(lacking) == 0 {
		return nil
	}
	return &UnavailableError{
		Mode: s.Policy.Mode, Stage: "require", Report: &r,
		Detail: fmt.Sprintf("%s is required, and %s: %s", s.Require, what, join(lacking)),
	}
}

func join(promises []policy.Promise) string {
	names := make([]string, len(promises))
	for i, p := range promises {
		names[i] = string(p)
	}
	return strings.Join(names, ", ")
}

// spawnError tells what kept the command from running.
func spawnError(s Spec, err error) error {
	var h *keeper.HelperError
	if !errors.As(err, &h) && errors.Is(err, unix.E2BIG) {
		return &StartError{Program: s.Program, Errno: unix.E2BIG} // the plan is too large already
	}
	if h == nil {
		return unavailable(s, "keeper", err)
	}
	if h.Stage == confine.ExecStep {
		return &StartError{Program: s.Program, Errno: h.Errno}
	}
	if meaning := confine.StepError(h.Stage, h.Errno); meaning != nil {
		return unavailable(s, h.Stage, meaning)
	}
	return &UnavailableError{Mode: s.Policy.Mode, Stage: h.Stage, Errno: h.Errno, Detail: detail(h), cause: err}
}

func detail(h *keeper.HelperError) string {
	if h.Errno == 0 {
		return h.Detail
	}
	return h.Detail + ": " + h.Errno.Error()
}

// unavailable wraps what failed before any helper was started.
func unavailable(s Spec, stage string, err error) error {
	u := &UnavailableError{Mode: s.Policy.Mode, Stage: stage, Detail: err.Error(), cause: err}
	errors.As(err, &u.Errno)
	var l *confine.UnavailableError
	if errors.As(err, &l) {
		u.Stage, u.Hint = "landlock", l.Reason.Hint()
	}
	var m *confine.MetadataError
	if errors.As(err, &m) {
		u.Stage, u.Hint = string(policy.PromiseMetadata), m.Hint()
	}
	var limit *confine.LimitError
	if errors.As(err, &limit) {
		u.Stage = confine.LimitsStep
	}
	return u
}

// ErrnoName is the symbol of an errno, such as "EACCES"; "" for zero.
func ErrnoName(errno syscall.Errno) string {
	if errno == 0 {
		return ""
	}
	return unix.ErrnoName(errno)
}
