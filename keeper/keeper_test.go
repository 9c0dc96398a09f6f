package keeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

const helper = "/proc/self/exe"

func start(t *testing.T) *Keeper {
	t.Helper()
	kerneltest.Require(t, kerneltest.CloseRange)
	k, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

// shell is the plan of an unconfined command; its output goes to file.
func shell(t *testing.T, command, file string) *confine.Plan {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := null
	if file != "" {
		if out, err = os.Create(file); err != nil {
			t.Fatal(err)
		}
	}
	plan, err := confine.Prepare(confine.Job{
		Policy:  policy.Policy{Mode: policy.DangerFullAccess},
		Program: "/bin/sh", Argv: []string{"sh", "-c", command}, Dir: "/",
		Stdin: null, Stdout: out, Stderr: out,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plan.Close(); out.Close(); null.Close() })
	return plan
}

func spawn(t *testing.T, k *Keeper, plan *confine.Plan) *Process {
	t.Helper()
	p, err := k.Spawn(t.Context(), helper, plan)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func end(t *testing.T, p *Process) syscall.WaitStatus {
	t.Helper()
	select {
	case <-p.Done():
	case <-time.After(kerneltest.Slow(20 * time.Second)):
		t.Fatal("the command did not end")
	}
	status, err := p.Status()
	if err != nil {
		t.Fatal(err)
	}
	return status
}

func TestStatus(t *testing.T) {
	k := start(t)
	for command, want := range map[string]syscall.WaitStatus{
		"exit 0": 0, "exit 42": 42 << 8, "kill -TERM $$": 15, "kill -KILL $$": 9,
	} {
		if got := end(t, spawn(t, k, shell(t, command, ""))); got&^0x80 != want {
			t.Errorf("%s: wait status %#x, wanted %#x", command, got, want)
		}
	}
}

func TestSignalReachesTheGroup(t *testing.T) {
	k := start(t)
	p := spawn(t, k, shell(t, "sleep 60 & sleep 60; true", ""))
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := end(t, p); got.Signal() != syscall.SIGTERM {
		t.Errorf("wait status %#x, wanted death by SIGTERM", got)
	}
	if err := p.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a command that ended: %v", err)
	}
}

// TestGroupDiesWithTheLeader: what a command leaves in its group is killed.
func TestGroupDiesWithTheLeader(t *testing.T) {
	k := start(t)
	file := filepath.Join(t.TempDir(), "pid")
	end(t, spawn(t, k, shell(t, "sleep 60 & echo $!", file)))
	pid := readPID(t, file)
	for range 100 {
		if dead(pid) {
			return
		}
		time.Sleep(kerneltest.Slow(20 * time.Millisecond))
	}
	t.Errorf("process %d of the group lives", pid)
}

func TestCloseKills(t *testing.T) {
	kerneltest.Require(t, kerneltest.CloseRange)
	k, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := spawn(t, k, shell(t, "trap '' TERM; sleep 60; true", ""))
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if got := end(t, p); got.Signal() != syscall.SIGKILL {
		t.Errorf("wait status %#x, wanted death by SIGKILL", got)
	}
	if _, err := k.Spawn(t.Context(), helper, shell(t, "true", "")); !errors.Is(err, ErrGone) {
		t.Errorf("spawn after close gave %v, wanted %v", err, ErrGone)
	}
}

func TestSpawnAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	marker := filepath.Join(t.TempDir(), "ran")
	p, err := start(t).Spawn(ctx, helper, shell(t, "sleep 5; touch "+marker, ""))
	if err == nil {
		end(t, p) // it had begun before the signal came, which then ended it
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the command ran to its end")
	}
}

func TestHelperFailures(t *testing.T) {
	broken := shell(t, "true", "")
	broken.Steps[2].Calls[0].Number = unix.SYS_FCHDIR // on a descriptor that is none
	broken.Steps[2].Calls[0].Args = []confine.Arg{confine.Int(-1)}
	inert := shell(t, "true", "")
	inert.Steps[2].Calls[0].Expect = unix.EACCES
	missing := shell(t, "true", "")
	missing.Steps[len(missing.Steps)-1].Calls[0].Args[0] = confine.Str("/nowhere")
	for _, tt := range []struct {
		name, helper string
		plan         *confine.Plan
		stage        string
		errno        syscall.Errno
	}{
		{"no such helper", "/nowhere", shell(t, "true", ""), "helper", syscall.ENOENT},
		{"a helper that says nothing", "/bin/true", shell(t, "true", ""), "helper", 0},
		{"a step that fails", helper, broken, "session", syscall.EBADF},
		{"a step that had to fail", helper, inert, "session", 0},
		{"no such program", helper, missing, confine.ExecStep, syscall.ENOENT},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := start(t).Spawn(t.Context(), tt.helper, tt.plan)
			var h *HelperError
			if !errors.As(err, &h) || h.Stage != tt.stage || h.Errno != tt.errno || h.Detail == "" {
				t.Errorf("got %v, wanted stage %q and errno %v", err, tt.stage, tt.errno)
			}
		})
	}
}

// TestNothingIsLeftOpen runs many and counts the descriptors.
func TestNothingIsLeftOpen(t *testing.T) {
	k := start(t)
	plan := shell(t, "true", "")
	end(t, spawn(t, k, plan))
	before := descriptors(t)
	for range 50 {
		end(t, spawn(t, k, plan))
		_, _ = k.Spawn(t.Context(), "/nowhere", plan)
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func readPID(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid := 0
	for _, r := range strings.TrimSpace(string(b)) {
		pid = 10*pid + int(r-'0')
	}
	return pid
}

// dead is true for a process that has ended, reaped or not.
func dead(pid int) bool {
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}
