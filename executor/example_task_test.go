package executor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/executor"
)

// A command in the background lives until it ends or is killed, and is read in
// parts.
func ExampleExecutor_Start() {
	confine.RunHelper()

	state, err := os.MkdirTemp("", "state")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(state)

	e, err := executor.New(executor.Config{
		StateDir:   filepath.Join(state, "private"),
		OnTaskDone: func(t *executor.Task) { fmt.Println(t.ID(), "of", t.Owner(), "has ended") },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	spec, err := e.Resolve(executor.Request{Command: "echo hello; exit 3", Owner: "session-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	task, err := e.Start(spec)
	if err != nil {
		fmt.Println(err) // the command did not run
		return
	}
	<-task.Done() // or read it while it runs

	out := task.ReadOutput()
	fmt.Printf("%q up to byte %d, %s with %d\n", out.Stdout.Data, out.Stdout.To, out.Status.State, out.Status.Code)
	fmt.Printf("%q\n", task.ReadOutput().Stdout.Data)
	fmt.Println("was running:", task.Kill(context.Background()))
	e.Close()
	// Unordered output:
	// bash-1 of session-1 has ended
	// "hello\n" up to byte 6, completed with 3
	// ""
	// was running: false
}
