package integration

import (
	"context"
	"encoding/json"
	"errors"
	"os"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// promisedRun is what the program "as-promised" is told to run, as the command
// line does: it has no other children.
type promisedRun struct {
	State   string
	Policy  policy.Policy
	Command string
}

// promisedEnd is what came of it.
type promisedEnd struct {
	Report fact.Report
	Output string
	Failed bool
	// Error and the rest are of a command that did not run.
	Error, Stage string
	Unavailable  bool
}

func promised(args []string) int {
	var r promisedRun
	if err := json.Unmarshal([]byte(args[0]), &r); err != nil {
		return 2
	}
	result, err := r.execute()
	end := promisedEnd{Report: result.Report, Output: string(result.Stdout.Tail), Failed: result.Exit.Failed()}
	if err != nil {
		end.Error, end.Unavailable = err.Error(), errors.Is(err, executor.ErrSandboxUnavailable)
	}
	var unavailable *executor.UnavailableError
	if errors.As(err, &unavailable) {
		end.Stage = unavailable.Stage
	}
	if err := json.NewEncoder(os.Stdout).Encode(end); err != nil {
		return 1
	}
	return 0
}

func (r promisedRun) execute() (executor.Result, error) {
	e, err := executor.New(executor.Config{StateDir: r.State, OwnTree: true, Environ: os.Environ()})
	if err != nil {
		return executor.Result{}, err
	}
	defer e.Close()
	spec, err := e.Resolve(executor.Request{Policy: &r.Policy, Command: r.Command, Timeout: patience})
	if err != nil {
		return executor.Result{}, err
	}
	return e.Run(context.Background(), spec)
}
