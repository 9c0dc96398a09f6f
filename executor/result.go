package executor

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Result is what is known of a command that ran.
type Result struct {
	Exit     fact.Exit
	Duration time.Duration
	// Timeout is the timeout that was in force; zero is none.
	Timeout        time.Duration
	Stdout, Stderr Output
	// Leftover is how many processes the command left behind, which were killed
	// at its end; without a control group and Config.OwnTree it is unknown and zero.
	Leftover int
	// Report says what was enforced for this run.
	Report fact.Report
	// Denials lists what the command reported as refused and the sandbox did
	// refuse, or possibly did, also in a run that succeeded. What a command hides
	// is not in it.
	Denials []fact.Denial
	// Denied says that the run failed and that a denial explains it.
	Denied bool
	// Limits lists the limits that the command reached, also where it ended well.
	Limits []fact.Limit
	// Usage is what the command used.
	Usage fact.Usage
	// Scrubbed lists the names of the variables that the command did not inherit.
	Scrubbed []string
	// Warnings are sentences about what did not go as it should.
	Warnings []string
}

// ErrSandboxUnavailable is what every *UnavailableError is.
var ErrSandboxUnavailable = errors.New("sandbox unavailable")

// UnavailableError says that the command could not be confined as asked. It
// did not run.
type UnavailableError struct {
	Mode policy.Mode
	// Stage is the part that failed, such as "landlock", "proof", "limits" or "helper".
	Stage string
	// Errno is the kernel's answer; zero where there is none.
	Errno  syscall.Errno
	Detail string
	// Hint is what can be done about it; may be empty.
	Hint string
	// Report is what would have held, where that is known.
	Report *fact.Report

	cause error
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("sandbox unavailable under %s mode: %s: %s; the command did not run", e.Mode, e.Stage, e.Detail)
}

// Is makes every UnavailableError match ErrSandboxUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrSandboxUnavailable }

// Unwrap returns the error behind it.
func (e *UnavailableError) Unwrap() error { return e.cause }

// StartError says that the program itself could not be executed: the sandbox
// was ready, the program was not there or not executable. It did not run.
type StartError struct {
	Program string
	Errno   syscall.Errno
}

func (e *StartError) Error() string {
	return fmt.Sprintf("execute %q: %v", e.Program, e.Errno)
}

// Unwrap returns the errno.
func (e *StartError) Unwrap() error { return e.Errno }
