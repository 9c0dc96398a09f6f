package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// ran is what the runner prints: how one run of the library went.
type ran struct {
	Started bool // no error
	Message string
	Code    int // the command's exit status
	Stage   string
	Errno   string
	Hint    string
	// Unavailable says that the error is executor.ErrSandboxUnavailable.
	Unavailable bool
}

// runner is a program that uses the library as another would: it runs one
// command in workspace-write and prints what came of it.
//
//	as-runner WORKSPACE STATE-DIRECTORY COMMAND
func runner(args []string) int {
	result, err := runOnce(args[0], args[1], args[2])
	out := ran{Started: err == nil, Code: result.Exit.Code, Unavailable: errors.Is(err, executor.ErrSandboxUnavailable)}
	if err != nil {
		out.Message = err.Error()
	}
	var unavailable *executor.UnavailableError
	if errors.As(err, &unavailable) {
		out.Stage, out.Hint = unavailable.Stage, unavailable.Hint
		out.Errno = unix.ErrnoName(unavailable.Errno)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		return 1
	}
	return 0
}

func runOnce(workspace, state, command string) (executor.Result, error) {
	e, err := executor.New(executor.Config{StateDir: state})
	if err != nil {
		return executor.Result{}, err
	}
	defer e.Close()
	spec, err := e.Resolve(executor.Request{Policy: in(policy.WorkspaceWrite, workspace), Command: command})
	if err != nil {
		return executor.Result{}, err
	}
	return e.Run(context.Background(), spec)
}

func parseRan(t *testing.T, body []byte) ran {
	t.Helper()
	var r ran
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatalf("the runner printed %q: %v", body, err)
	}
	return r
}

// forgetful is the runner in a program that never calls confine.RunHelper. It
// prints the error alone.
func forgetful(args []string) int {
	_, err := executor.New(executor.Config{StateDir: args[0]})
	if err == nil {
		fmt.Println("no error")
		return 0
	}
	fmt.Println(err)
	return 3
}
