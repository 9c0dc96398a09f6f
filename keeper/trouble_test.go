package keeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// slowContext gives the command time to begin and to end before Spawn looks.
type slowContext struct{ context.Context }

func (c slowContext) Done() <-chan struct{} {
	time.Sleep(100 * time.Millisecond)
	return c.Context.Done()
}

// TestCommandThatEndsAtOnce: both events may be there when Spawn looks.
func TestCommandThatEndsAtOnce(t *testing.T) {
	k := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 10 {
		p, err := k.Spawn(slowContext{ctx}, helper, shell(t, "true", ""))
		if err != nil || p == nil {
			t.Fatalf("got process %v and error %v", p, err)
		}
		end(t, p)
	}
}

// TestNoMoreDescriptors: a run that finds none left fails alone.
func TestNoMoreDescriptors(t *testing.T) {
	k := start(t)
	other := spawn(t, k, shell(t, "sleep 1", ""))
	plan := shell(t, "true", "")

	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	low := limit
	low.Cur = uint64(fill(t)) + 3
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	_, err := k.Spawn(t.Context(), helper, plan)
	if restored := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); restored != nil {
		t.Fatal(restored)
	}
	if !errors.Is(err, syscall.EMFILE) {
		t.Errorf("got %v, wanted EMFILE", err)
	}
	if got := end(t, other); got != 0 {
		t.Errorf("the other run ended with wait status %#x", got)
	}
	end(t, spawn(t, k, plan))
}

// fill opens every number below the highest that is open, until the test ends,
// and returns the next one.
func fill(t *testing.T) int {
	t.Helper()
	top := highest(t)
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if int(f.Fd()) >= top {
			return int(f.Fd()) + 1
		}
	}
}

// highest is one more than the highest descriptor that is open.
func highest(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	top := 0
	for _, e := range entries {
		n := 0
		for _, r := range e.Name() {
			n = 10*n + int(r-'0')
		}
		top = max(top, n+1)
	}
	return top
}

// TestHelperThatNeverAnswers is ended with its context.
func TestHelperThatNeverAnswers(t *testing.T) {
	script := filepath.Join(t.TempDir(), "helper")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := start(t).Spawn(ctx, script, shell(t, "true", ""))
	var h *HelperError
	if !errors.As(err, &h) || time.Since(begin) > kerneltest.Slow(3*time.Second) {
		t.Errorf("got %v after %v, wanted a failure of the helper at once", err, time.Since(begin))
	}
}
