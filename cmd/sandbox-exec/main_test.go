package main

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// TestMain puts the program under test in PATH: it is this test binary under
// another name, and so are the programs that the scripts need.
func TestMain(m *testing.M) {
	confine.RunHelper()
	kerneltest.RunHook()
	testscript.Main(m, map[string]func(){
		"sandbox-exec": main,
		"outer-filter": outerFilter,
	})
}

// scriptsMayTake bounds all scripts together: what hangs is killed and fails.
var scriptsMayTake = kerneltest.Slow(60 * time.Second)

func TestScripts(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Deadline:           time.Now().Add(scriptsMayTake),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   status,
			"document": checkDocument,
		},
		Condition: func(name string) (bool, error) {
			have, _ := kerneltest.Present(kerneltest.Feature(name))
			return len(have) == 1, nil
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir+"/home")
			return errors.Join(os.MkdirAll(e.WorkDir+"/ws", 0o755), os.Mkdir(e.WorkDir+"/home", 0o755))
		},
	})
}
