package kerneltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

const (
	// FilterFailed is the exit status of a child whose filter could not be
	// installed or whose program could not be executed.
	FilterFailed = 121

	filterArg0 = "kerneltest-filter"
)

// A Filter is one rule of an outer container's seccomp filter: the call number
// of this architecture does nothing and returns Errno, or returns 0 as if it
// had worked where Errno is 0. With Args, only calls where all of them match.
type Filter struct {
	Sysno uint32
	Errno unix.Errno
	Args  []Arg
}

// Arg matches a call whose argument Index (0 to 5) is Value, all 64 bits of it.
type Arg struct {
	Index int
	Value uint64
}

// hooked tells that RunHook ran in this process. Without it a re-executed test
// binary would run its tests again, and they would re-execute it.
var hooked bool

// RunHook is the first statement of TestMain in a package that uses UnderFilter,
// before any other hook. In a child made by UnderFilter it does not return.
func RunHook() {
	hooked = true
	if len(os.Args) == 0 {
		return
	}
	var err error
	switch os.Args[0] {
	case filterArg0:
		err = runFiltered(os.Args[1:])
	case askArg0:
		err = runAsking(os.Args[1:])
	case capArg0:
		var status int
		if status, err = runCapped(os.Args[1:]); err == nil {
			os.Exit(status)
		}
	default:
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
	os.Exit(FilterFailed)
}

// UnderFilter changes a command that was not started yet so that its program
// runs under the filters and under no_new_privs, which an ordinary user needs
// to install them. Where several match a call, the first wins. Path, Args,
// Env, Dir and files reach the program unchanged; the child's status is
// FilterFailed if it never ran.
func UnderFilter(cmd *exec.Cmd, filters ...Filter) *exec.Cmd {
	if cmd.Err != nil {
		return cmd
	}
	spec, err := json.Marshal(filters)
	if !hooked {
		err = errors.New("kerneltest.RunHook is not called first in TestMain")
	}
	if cmd.Err = err; err != nil {
		return cmd
	}
	cmd.Args = append([]string{filterArg0, string(spec), cmd.Path}, cmd.Args...)
	cmd.Path = "/proc/self/exe"
	return cmd
}

// RunUnderFilter runs the command under the filters, as cmd.Run does.
func RunUnderFilter(cmd *exec.Cmd, filters ...Filter) error {
	err := UnderFilter(cmd, filters...).Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == FilterFailed {
		return fmt.Errorf("the program did not run under its filter: %w", err)
	}
	return err
}
