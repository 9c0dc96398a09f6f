package executor

import (
	"io"
	"time"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Request is one command that a caller wants run. Only Command or Argv is
// needed.
type Request struct {
	// Command is run by bash -c. Exactly one of Command and Argv is given.
	Command string
	// Argv is a program and its arguments, run without a shell. A name without
	// a slash is looked for in the command's PATH.
	Argv []string
	// Workdir is the directory to start in; empty is the workspace. A relative
	// one counts from the workspace.
	Workdir string
	// Timeout is how long the command may run; zero is the executor's default,
	// negative is none of its own. The executor's MaxTimeout, ten minutes unless
	// that is set, caps all three. For Start zero and negative are none, and there
	// is no cap.
	Timeout time.Duration
	// Owner is whose command it is, such as a session; empty is nobody's. Spill
	// files of one owner lie together, and tasks are counted and listed by owner.
	Owner string
	// Spill says which streams go to a file where memory does not keep them whole;
	// zero is those that have no writer here.
	Spill Spill
	// Policy replaces the executor's; nil takes that.
	Policy *policy.Policy
	// Require is what must hold before the command runs; zero asks nothing more
	// than each mode does.
	Require policy.Require
	// Env adds to the environment, as NAME=VALUE. It is not scrubbed and wins
	// over what is inherited.
	Env []string
	// Stdin is copied to the command's standard input, which is then closed; nil
	// is /dev/null. A reader that blocks for ever does not keep Run from
	// returning, nor a task from its end, but its goroutine.
	Stdin io.Reader
	// Stdout and Stderr get the output as it comes, besides the tails that the
	// Result keeps; nil is nobody. If they are the same writer, it gets one write
	// at a time. Where writing fails, the command gets SIGPIPE like one whose
	// reader went away. A write that blocks does not hold back a Run that was cut
	// short, and may then end after it.
	Stdout, Stderr io.Writer
}

// Spec is a request with everything decided. What Run reads besides is this
// process's own: its umask, limits and capabilities, which the command inherits.
type Spec struct {
	// Policy is canonical.
	Policy  policy.Policy
	Require policy.Require
	// Command is what was asked, for reports.
	Command string
	// Program is the absolute path that is executed, Argv its arguments.
	Program string
	Argv    []string
	// Env is the whole environment but TMPDIR, which Run adds where it is not in it.
	Env []string
	// Scrubbed lists the names of the inherited variables that were removed.
	Scrubbed []string
	// Dir is canonical.
	Dir string
	// Timeout is how long the command may run under Run; zero is without end.
	Timeout time.Duration
	// TaskTimeout is the same under Start.
	TaskTimeout time.Duration
	// Owner is whose command it is; empty is nobody's.
	Owner string
	// Spill says which streams may go to a file.
	Spill Spill
	// Grace is Config.Grace with its default.
	Grace time.Duration
	// Warnings are sentences for the person who set this up.
	Warnings []string

	Stdin          io.Reader
	Stdout, Stderr io.Writer
}
