package executor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// A program that runs commands calls confine.RunHelper before anything else:
// it is started again as the helper.
func Example() {
	confine.RunHelper()

	workspace, err := os.MkdirTemp("", "workspace")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(workspace)

	e, err := executor.New(executor.Config{
		Policy:  policy.Policy{Mode: policy.WorkspaceWrite, Workspace: workspace},
		Environ: os.Environ(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	spec, err := e.Resolve(executor.Request{Command: "echo ok > allowed; echo no > ../refused"})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := e.Run(context.Background(), spec)
	if err != nil {
		fmt.Println(err) // the command did not run
		return
	}
	fmt.Println("exit code:", result.Exit.Code)
	fmt.Println("denied:", result.Denied)
	for _, d := range result.Denials {
		fmt.Println(d.Verdict, d.Op, filepath.Base(d.Path))
	}
	for _, row := range result.Report.Rows[:2] {
		fmt.Println(row.Promise, row.Status)
	}
	// Output:
	// exit code: 1
	// denied: true
	// denied write refused
	// files enforced
	// truncate enforced
}
