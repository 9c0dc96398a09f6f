package integration

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

var updateCompat = flag.Bool("update", false, "write docs/compatibility.md")

const (
	compatPage    = "../docs/compatibility.md"
	compatCommand = "go test ./integration -run TestCompatibility -update"
	compatWorks   = "works"
	compatFails   = "fails"
)

// compatModes are the columns of the page.
var compatModes = []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite}

func (r compatRow) want(m policy.Mode) string {
	if slices.Contains(r.fails, m) {
		return compatFails
	}
	return compatWorks
}

// line is the row in the page's table.
func (r compatRow) line(verdicts []string) string {
	return fmt.Sprintf("| %s | %s | %s |", r.name, strings.Join(verdicts, " | "), r.note)
}

// TestCompatibility runs ordinary work without the sandbox and in both modes,
// and compares what comes of it with the page.
func TestCompatibility(t *testing.T) {
	needs(t)
	var lines []string
	complete := true
	for _, r := range kerneltest.Some(compatRows()) {
		complete = t.Run(r.name, func(t *testing.T) {
			kerneltest.Require(t, r.needs...)
			verdicts := r.verdicts(t)
			for i, m := range compatModes {
				if verdicts[i] != r.want(m) {
					t.Errorf("%s: it %s, want that it %s", m, verdicts[i], r.want(m))
				}
			}
			lines = append(lines, r.line(verdicts))
		}) && complete
	}
	if *updateCompat {
		updatePage(t, lines, complete && len(lines) == len(compatRows()))
		return
	}
	page := read(t, compatPage)
	for _, line := range lines {
		if !strings.Contains(page, line+"\n") {
			t.Errorf("the page does not have %s; %s", line, compatCommand)
		}
	}
	t.Logf("%d of %d programs are here", len(lines), len(compatRows()))
}

// verdicts are what the row comes to in each mode. A command works if it prints
// what it prints without the sandbox.
func (r compatRow) verdicts(t *testing.T) (list []string) {
	t.Helper()
	plain := mustBash(t, realTempDir(t), r.command)
	if plain == "" {
		t.Fatal("without the sandbox it prints nothing")
	}
	for _, mode := range compatModes {
		command, p := r.command, in(mode, realTempDir(t))
		if mode == policy.ReadOnly {
			command = `cd "$TMPDIR" && ` + command
		}
		p.IPC = r.ipc
		result := run(t, newExecutor(t, executor.Config{}), executor.Request{Policy: p, Command: command})
		verdict := compatWorks
		if result.Exit.Failed() || stdout(result) != plain {
			verdict = compatFails
			t.Logf("%s: %+v, printed %q instead of %q: %s", mode, result.Exit, stdout(result), plain, stderr(result))
		}
		list = append(list, verdict)
	}
	return list
}

func updatePage(t *testing.T, lines []string, complete bool) {
	t.Helper()
	if !complete {
		t.Fatalf("only %d of %d rows are as they should be: the page stays as it is", len(lines), len(compatRows()))
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	abi, err := kerneltest.LandlockABI()
	if err != nil {
		t.Fatal(err)
	}
	page := fmt.Sprintf(`# Ordinary programs in the sandbox

Written on %s by `+"`%s`"+` on Linux %s, Landlock ABI %d, uid %d.
`+"`go test ./integration -run TestCompatibility`"+` compares it with the programs that a machine has.

Each command ran three times in an empty directory: without the sandbox, in read-only in the scratch directory,
and in workspace-write in the workspace. It works if it succeeds and prints the same. The commands are in
[compat_rows_test.go](../integration/compat_rows_test.go).

| what | read-only | workspace-write | note |
|---|---|---|---|
%s
`, time.Now().UTC().Format(time.DateOnly), compatCommand, unix.ByteSliceToString(name.Release[:]), abi, os.Getuid(), strings.Join(lines, "\n"))
	write(t, compatPage, page)
}
