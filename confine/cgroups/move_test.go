package cgroups

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// BenchmarkMove shows why a command enters its groups by itself. The pauses are
// there because a move from outside is cheap right behind another.
//
//	go test ./confine/cgroups -run '^$' -bench Move -benchtime 40x
func BenchmarkMove(b *testing.B) {
	kerneltest.Require(b, kerneltest.Cgroup1)
	own, err := kerneltest.OwnGroup("pids")
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp(own, "benchmark-")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = unix.Rmdir(dir) })
	dirs := []string{dir, own}
	b.Run("from outside", func(b *testing.B) {
		sleep := exec.Command("sleep", "100")
		if err := sleep.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
		move(b, dirs, "cgroup.procs", strconv.Itoa(sleep.Process.Pid))
	})
	b.Run("itself", func(b *testing.B) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		move(b, dirs, "tasks", "0")
	})
}

// move goes there and back, and ends where it began.
func move(b *testing.B, dirs []string, file, who string) {
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		time.Sleep(30 * time.Millisecond)
		b.StartTimer()
		if err := writeFile(filepath.Join(dirs[i%2], file), who); err != nil {
			b.Fatal(err)
		}
	}
	if err := writeFile(filepath.Join(dirs[1], file), who); err != nil {
		b.Fatal(err)
	}
}
