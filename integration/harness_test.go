package integration

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// programs are what this test binary is when its first argument says so. They
// take the other arguments and return an exit status.
var programs = map[string]func(args []string) int{
	"as-forgetful": forgetful,
	"as-runner":    runner,
	"as-prober":    prober,
	"as-holder":    holder,
	"as-victim":    victimProgram,
	"as-promised":  promised,
	"as-asking":    asking,
	"as-racer":     racer,
	"as-caller":    caller,
	"as-timer":     timer,
	"as-foreign":   foreign,
	"as-reporter":  reporter,
	"as-limited":   limited,
	"as-entrant":   entrant,
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "as-forgetful" {
		os.Exit(forgetful(os.Args[2:])) // before the hook that it forgets
	}
	confine.RunHelper()
	kerneltest.RunHook()
	if len(os.Args) > 1 {
		if program, found := programs[os.Args[1]]; found {
			os.Exit(program(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// patience is for what should take milliseconds.
var patience = kerneltest.Slow(30 * time.Second)

// self is this binary as one of its programs, killed after a while.
func self(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	return outside(t, append([]string{selfPath(t), program}, args...)...)
}

func selfPath(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// outside is a command without the sandbox, killed after a while.
func outside(t *testing.T, argv ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// bash runs a command without the sandbox, to show that it works there.
func bash(t *testing.T, dir, command string) (stdout string, err error) {
	t.Helper()
	cmd := outside(t, "bash", "-c", command)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = errors.Join(err, errors.New(stderr.String()))
	}
	return string(out), err
}

func mustBash(t *testing.T, dir, command string) string {
	t.Helper()
	out, err := bash(t, dir, command)
	if err != nil {
		t.Fatalf("without the sandbox %q: %v", command, err)
	}
	return out
}

// needs is what every test here needs, and more.
func needs(t *testing.T, features ...kerneltest.Feature) {
	t.Helper()
	kerneltest.Require(t, append(features, kerneltest.Landlock(1), kerneltest.Program("bash"))...)
}

// newExecutor has its own state directory and this process's environment.
func newExecutor(t testing.TB, c executor.Config) *executor.Executor {
	t.Helper()
	if c.StateDir == "" {
		c.StateDir = stateDir(t)
	}
	if c.Environ == nil {
		c.Environ = os.Environ()
	}
	e, err := executor.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// stateDir is a directory as the executor wants it: others cannot use it.
func stateDir(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(realTempDir(t), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// in is a policy for a workspace.
func in(mode policy.Mode, workspace string) *policy.Policy {
	return &policy.Policy{Mode: mode, Workspace: workspace}
}

// run runs a request that must run, whatever its exit status.
func run(t testing.TB, e *executor.Executor, r executor.Request) executor.Result {
	t.Helper()
	result, err := tryRun(e, r)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func tryRun(e *executor.Executor, r executor.Request) (executor.Result, error) {
	spec, err := e.Resolve(r)
	if err != nil {
		return executor.Result{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return e.Run(ctx, spec)
}

// shell runs a bash command under a policy, with an executor of its own.
func shell(t testing.TB, p *policy.Policy, command string) executor.Result {
	t.Helper()
	return run(t, newExecutor(t, executor.Config{}), executor.Request{Policy: p, Command: command})
}

func stdout(r executor.Result) string { return string(r.Stdout.Tail) }
func stderr(r executor.Result) string { return string(r.Stderr.Tail) }

// succeeded fails the test unless the command ended well and nothing was denied.
func succeeded(t testing.TB, r executor.Result) {
	t.Helper()
	if r.Exit.Failed() || len(r.Denials) > 0 {
		t.Fatalf("got %+v and denials %+v, want success\n%s%s", r.Exit, r.Denials, r.Stdout.Tail, r.Stderr.Tail)
	}
}

// failed fails the test unless the command failed by itself.
func failed(t testing.TB, r executor.Result) {
	t.Helper()
	if r.Exit.Code == 0 || r.Exit.Signal != "" {
		t.Fatalf("got %+v, want a failure\n%s%s", r.Exit, r.Stdout.Tail, r.Stderr.Tail)
	}
}

func write(t testing.TB, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func exists(t testing.TB, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// gone waits until a process, or with a negative number a whole process group,
// has ended. A zombie has: whoever has to reap it may be slow.
func gone(pid int) bool {
	for deadline := time.Now().Add(kerneltest.Slow(2 * time.Second)); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if !alive(pid) {
			return true
		}
	}
	return false
}

func alive(pid int) bool {
	if pid > 0 {
		return runs(strconv.Itoa(pid), "")
	}
	processes, err := filepath.Glob("/proc/[0-9]*")
	return err != nil || slices.ContainsFunc(processes, func(dir string) bool {
		return runs(filepath.Base(dir), strconv.Itoa(-pid))
	})
}

// runs reads state and process group, the first and the third field behind the
// program's name (proc(5)). An empty group means any.
func runs(pid, group string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0] != "Z" && fields[0] != "X" && (group == "" || fields[2] == group)
}
