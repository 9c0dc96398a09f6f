// Command sandbox-exec runs one shell command under a mode and makes the Linux
// kernel hold it to that mode.
//
// Rules of this command line:
//   - stdout belongs to the command. What sandbox-exec has to say goes to stderr,
//     in lower case, as "sandbox-exec: error: …", then perhaps "hint: …".
//   - The exit status is the command's own, 128+n for a signal, 124 after our
//     timeout, 125 where the sandbox failed and the command did not run, and
//     126 or 127 as a shell gives them for a program after "--".
//   - A value that cannot be taken is named in one line, and nothing has run.
package main

import (
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/confine"
)

func main() {
	confine.RunHelper()
	// A reader that goes away must end the command and not this process.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// stdio is what a command line reads and writes.
type stdio struct {
	in       *os.File
	out, err io.Writer
}

// run is the whole program but the helper. It returns the exit status.
func run(args []string, std stdio) int {
	status := statusOK
	root := newRoot(std, &status)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return complain(std.err, err)
	}
	return status
}
