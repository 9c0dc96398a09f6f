package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// patience is for what should take milliseconds.
var patience = kerneltest.Slow(20 * time.Second)

// outcome is how the program under test ended.
type outcome struct {
	status         int
	stdout, stderr string
}

// command is a command line in that directory that is killed after a while.
func command(t *testing.T, dir, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// finish runs the command to its end. One that a signal ended fails the test.
func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	code, err := exitCode(cmd.Run())
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, &stdout, &stderr)
	}
	return outcome{code, stdout.String(), stderr.String()}
}

// sandboxed is "sandbox-exec run" with those arguments.
func sandboxed(t *testing.T, dir string, args ...string) outcome {
	t.Helper()
	return finish(t, command(t, dir, "sandbox-exec", append([]string{"run"}, args...)...))
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Lstat(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func write(t *testing.T, path, body string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(body), 0o644); err != nil {
		t.Fatal(err)
	}
}

// realTempDir is a temporary directory by its real path.
func realTempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// gone waits until a process, or with a negative number a whole process group,
// has ended. A zombie has: whoever has to reap it may be slow.
func gone(t *testing.T, pid int) bool {
	t.Helper()
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

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t *testing.T, path string) {
	t.Helper()
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// chmod sets the mode until the test ends, so that the directory can be removed.
func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
}
