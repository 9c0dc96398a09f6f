package main

import (
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// The exit statuses that are ours.
const (
	statusOK            = 0
	statusLost          = 1 // the command ran; its end could not be learned, or its output or result not be written
	statusTimeout       = 124
	statusSandbox       = 125 // the command did not run
	statusNotExecutable = 126
	statusNotFound      = 127
)

// exitStatus is the status for a command that ran.
func exitStatus(e fact.Exit) int {
	if e.TimedOut {
		return statusTimeout
	}
	return e.Code
}

// errorStatus is the status for one that did not. A program after "--" that
// cannot be executed is the caller's, as in a shell; bash is ours.
func errorStatus(err error, shell string) int {
	if unknownEnd(err) {
		return statusLost
	}
	var interrupt executor.Interrupt
	if errors.As(err, &interrupt) {
		return 128 + int(interrupt.Signal)
	}
	var start *executor.StartError
	if shell != "" || !errors.As(err, &start) {
		return statusSandbox
	}
	if errors.Is(start.Errno, syscall.ENOENT) {
		return statusNotFound
	}
	return statusNotExecutable
}

// unknownEnd is true for a command that ran and whose end could not be learned.
func unknownEnd(err error) bool {
	return errors.Is(err, executor.ErrUnkillable) || errors.Is(err, executor.ErrEndUnknown)
}

// complain prints an error and its hint, and returns the status for it.
func complain(w io.Writer, err error) int {
	fmt.Fprintln(w, "sandbox-exec: error:", plain(err))
	if hint := hint(err); hint != "" {
		fmt.Fprintln(w, "hint:", hint)
	}
	return statusSandbox
}

// plain takes the flag parser's wrapping off: the value and what is accepted
// are in our own error.
func plain(err error) string {
	var input *policy.InputError
	if errors.As(err, &input) {
		return input.Error()
	}
	return err.Error()
}

func hint(err error) string {
	var unavailable *executor.UnavailableError
	if errors.As(err, &unavailable) {
		return unavailable.Hint
	}
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return "--help lists the flags of a command"
	}
	return ""
}
