package cgroups

import (
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// here makes a group on this machine.
func here(t *testing.T, name string, l policy.Limits) (*Host, *Group) {
	t.Helper()
	kerneltest.Require(t, kerneltest.Cgroup1)
	h, err := Find("")
	if err != nil {
		t.Fatal(err)
	}
	g, err := h.New(name, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Delete(Patience); err != nil {
			t.Error(err)
		}
	})
	return h, g
}

// TestFoundInOrder: what was made first is removed last, also by another process.
func TestFoundInOrder(t *testing.T) {
	const name = "test-found-in-order"
	h, g := here(t, name, policy.Limits{Memory: 48 << 20, CPUs: 1})
	for range 20 {
		if found := h.found(name); !slices.Equal(found.dirs, g.dirs) {
			t.Fatalf("found %q, made %q", found.dirs, g.dirs)
		}
	}
}

// TestManyMembers: a signal reaches more members than this process may have
// descriptors.
func TestManyMembers(t *testing.T) {
	_, g := here(t, "test-many-members", policy.Limits{})
	cmd := exec.Command("sh", "-c", "read go; for i in $(seq 150); do sleep 100 & done; wait; wait")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := g.Kill(Patience); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait()
	})
	for _, dir := range g.dirs {
		if err := writeFile(dir+"/"+procs, strconv.Itoa(cmd.Process.Pid)); err != nil {
			t.Fatal(err)
		}
	}
	stdin.Close()
	const all = 151
	count := func(want int) int {
		members, err := g.members()
		for end := time.Now().Add(20 * time.Second); len(members) != want && err == nil && time.Now().Before(end); members, err = g.members() {
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
		return len(members)
	}
	if n := count(all); n != all {
		t.Fatalf("%d members", n)
	}
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	few := unix.Rlimit{Cur: 100, Max: own.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
			t.Error(err)
		}
	}()
	g.Signal(syscall.SIGTERM, func(pid int) bool { return pid == cmd.Process.Pid })
	if n := count(0); n > 1 {
		t.Errorf("%d members are left", n)
	}
}
