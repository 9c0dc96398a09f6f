package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// TestPlantedSymlinkIsNoRoot: a command must not be able to turn a root that
// the next run is granted into a way out.
func TestPlantedSymlinkIsNoRoot(t *testing.T) {
	needs(t)
	outside, workspace := t.TempDir(), t.TempDir()
	cache := filepath.Join(workspace, "cache")
	if err := os.Mkdir(cache, 0o755); err != nil {
		t.Fatal(err)
	}
	p := policy.Policy{Mode: policy.WorkspaceWrite, Workspace: workspace, Writable: []policy.Root{{Path: cache}}}
	e := newExecutor(t, executor.Config{Policy: p})
	plant, err := e.Resolve(executor.Request{Command: "rmdir cache && ln -s " + outside + " cache"})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := e.Run(t.Context(), plant); err != nil || r.Exit.Code != 0 {
		t.Fatalf("planting the symlink: %+v, %v", r.Exit, err)
	}
	_, err = e.Resolve(executor.Request{Command: "echo no > " + outside + "/file"})
	var input *policy.InputError
	if !errors.As(err, &input) || !strings.Contains(err.Error(), "symlink "+cache) {
		t.Errorf("got %v, wanted the symlink to be named", err)
	}
}

// TestHelperInARoot: a command could replace what the next run starts.
func TestHelperInARoot(t *testing.T) {
	workspace := t.TempDir()
	helper := filepath.Join(workspace, "helper")
	if err := os.WriteFile(helper, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	e := newExecutor(t, executor.Config{
		Helper: helper,
		Policy: policy.Policy{Mode: policy.WorkspaceWrite, Workspace: workspace},
	})
	_, err := e.Resolve(executor.Request{Command: "true"})
	var input *policy.InputError
	if !errors.As(err, &input) || !strings.Contains(err.Error(), helper) {
		t.Errorf("got %v, wanted the helper to be refused", err)
	}
}

// TestTracedLeader: a zombie that another process traces cannot be reaped, and
// must not hold its run.
func TestTracedLeader(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("/usr/bin/python3"))
	script := filepath.Join(t.TempDir(), "trace.py")
	text := `
import ctypes, os, time
libc = ctypes.CDLL(None)
leader = os.getpid()
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if libc.ptrace(0x4206, leader, 0, 0) != 0: os._exit(1)
    for fd in (0, 1, 2): os.close(fd)
    os.write(w, b"x")
    time.sleep(%d)
    os._exit(0)
os.read(r, 1)
os._exit(7)
`
	text = fmt.Sprintf(text, int(kerneltest.Slow(4*time.Second).Seconds()))
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	e := newExecutor(t, executor.Config{Policy: policy.Policy{Workspace: t.TempDir()}})
	s, err := e.Resolve(executor.Request{Command: "exec /usr/bin/python3 " + script})
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r, err := e.Run(t.Context(), s)
	if err != nil || r.Exit.Code != 7 || time.Since(begin) > kerneltest.Slow(3*time.Second) {
		t.Errorf("got %+v, %v after %v; wanted exit code 7 at once", r.Exit, err, time.Since(begin))
	}
}

// TestSecondMountOfDevices: a terminal cannot be read through another mount of
// the same devices, and no root may hold one.
func TestSecondMountOfDevices(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Root, kerneltest.Terminal, kerneltest.Program("unshare"))
	dir := t.TempDir()
	mount := filepath.Join(dir, "pts")
	if err := os.Mkdir(mount, 0o755); err != nil {
		t.Fatal(err)
	}
	// In a mount namespace of its own, which goes with the shell.
	script := "mount -t devpts devpts " + mount + ` && exec -a "$0" "$@"`
	run := func(name string, args ...string) string {
		argv := append([]string{"-m", "--propagation", "private", "/bin/bash", "-c", script, name}, args...)
		out, err := exec.CommandContext(t.Context(), "unshare", argv...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		return string(out)
	}
	open := ": <>" + mount + "/ptmx && echo opened"
	if out := run("bash", "/bin/bash", "-c", open); !strings.Contains(out, "opened") {
		t.Fatalf("outside: %s", out)
	}
	state := stateDir(t)
	out := run("bash", selfPath(t), "as-runner", t.TempDir(), state, open)
	if !strings.Contains(out, `"Started":true`) || strings.Contains(out, `"Code":0`) {
		t.Errorf("inside: %s", out)
	}
	out = run("bash", selfPath(t), "as-runner", dir, state, "true")
	if !strings.Contains(out, `"Started":false`) || !strings.Contains(out, "devpts") {
		t.Errorf("a root that holds the mount: %s", out)
	}
}

// TestHelperThatIsMissing is told at once.
func TestHelperThatIsMissing(t *testing.T) {
	for _, helper := range []string{"/no/such/helper", "relative/helper"} {
		_, err := executor.New(executor.Config{Helper: helper, StateDir: stateDir(t)})
		var input *policy.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), helper) {
			t.Errorf("%s: got %v", helper, err)
		}
	}
}
