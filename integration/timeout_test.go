package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

var (
	testTimeout = kerneltest.Slow(400 * time.Millisecond)
	testGrace   = kerneltest.Slow(300 * time.Millisecond)
	testLate    = kerneltest.Slow(time.Second)
)

// Cases E04 and E05: bounded, the whole process group, and what was written is
// kept.
func TestTimeoutEndsTheGroup(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{Grace: testGrace})
	for name, command := range map[string]string{
		"plain":             "echo $$; sleep 60",
		"background":        "sleep 60 & sleep 61 & echo $$; wait",
		"pipeline":          "echo $$; sleep 60 | sleep 61 | cat",
		"ignores TERM":      "trap '' TERM; echo $$; sleep 60",
		"children ignore":   "echo $$; (trap '' TERM; sleep 60) & (trap '' TERM; sleep 61) & wait",
		"stopped":           "echo $$; kill -STOP 0",
		"busy":              "echo $$; while :; do :; done",
		"child of a child":  "echo $$; (sleep 60; true) & exit_early=1; bash -c 'sleep 62; true'",
		"floods all along":  "echo $$; exec yes",
		"closes its output": "echo $$; exec >&- 2>&-; sleep 60",
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			r := run(t, e, executor.Request{Policy: in(policy.ReadOnly, realTempDir(t)), Command: "echo early; " + command, Timeout: testTimeout})
			if took := time.Since(begin); took > testTimeout+testGrace+testLate {
				t.Errorf("it took %s", took)
			}
			if !r.Exit.TimedOut || r.Exit.Aborted || r.Timeout != testTimeout {
				t.Errorf("got %+v and a timeout of %s", r.Exit, r.Timeout)
			}
			if name == "floods all along" {
				return // its first lines are not in the tail
			}
			var group int
			if _, err := fmt.Sscanf(stdout(r), "early\n%d\n", &group); err != nil {
				t.Fatalf("output %q: %v", r.Stdout.Tail, err)
			}
			if !gone(-group) {
				_ = unix.Kill(-group, unix.SIGKILL)
				t.Error("processes of its group are left")
			}
		})
	}
}

// A command that ends by itself at the same status is not one that timed out,
// and one that answers TERM with success still is.
func TestTimeoutIsAFactOfItsOwn(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{Grace: testGrace})
	p := in(policy.ReadOnly, realTempDir(t))
	if r := run(t, e, executor.Request{Policy: p, Command: "exit 124", Timeout: time.Minute}); r.Exit.TimedOut || r.Exit.Code != 124 {
		t.Errorf("its own 124: %+v", r.Exit)
	}
	r := run(t, e, executor.Request{Policy: p, Command: "trap 'echo late; exit 0' TERM; sleep 60 & wait", Timeout: testTimeout})
	if !r.Exit.TimedOut || r.Exit.Code != 0 || r.Exit.Signal != "" || stdout(r) != "late\n" {
		t.Errorf("answers TERM: %+v and %q", r.Exit, r.Stdout.Tail)
	}
}

// SIGTERM reaches every process of the group, so that each can clean up.
func TestTimeoutAsksTheWholeGroup(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{Grace: patience / 3})
	r := run(t, e, executor.Request{
		Policy: in(policy.ReadOnly, realTempDir(t)), Timeout: testTimeout,
		Command: "trap 'wait; exit' TERM; (trap 'echo child asked; exit' TERM; sleep 60 & wait) & wait",
	})
	if stdout(r) != "child asked\n" || !r.Exit.TimedOut {
		t.Errorf("got %+v and %q", r.Exit, r.Stdout.Tail)
	}
}

func TestCancelledContextAborts(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{Grace: testGrace})
	spec, err := e.Resolve(executor.Request{Policy: in(policy.ReadOnly, realTempDir(t)), Command: "echo $$; sleep 60"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	r, err := e.Run(ctx, spec)
	if err != nil || !r.Exit.Aborted || r.Exit.TimedOut || r.Exit.Signal != "SIGTERM" {
		t.Errorf("got %v and %+v", err, r.Exit)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if r, err := e.Run(ended, spec); err == nil && !r.Exit.Aborted {
		t.Errorf("a context that ended before: %+v", r.Exit)
	}
}

// Case E01: a process left in the background does not hold the result back,
// and is not left.
func TestBackgroundIsNotWaitedFor(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{Grace: testGrace})
	for name, command := range map[string]string{
		"in the group":    "echo $$; sleep 60 &",
		"nohup":           "echo $$; nohup sleep 60 >/dev/null 2>&1 &",
		"holds the pipes": "echo $$; (trap '' TERM HUP; sleep 60) &",
	} {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			r := run(t, e, executor.Request{Policy: in(policy.ReadOnly, realTempDir(t)), Command: command})
			if took := time.Since(begin); took > testGrace+testLate || r.Exit.Failed() {
				t.Errorf("it took %s: %+v", took, r.Exit)
			}
			if group := number(stdout(r)[:len(stdout(r))-1]); !gone(-group) {
				_ = unix.Kill(-group, unix.SIGKILL)
				t.Error("processes of its group are left")
			}
		})
	}
	// One that leaves the group is not found, as the report says, but it holds
	// nothing back either.
	t.Run("leaves the group", func(t *testing.T) {
		begin := time.Now()
		const command = "mkfifo p; setsid bash -c 'echo $$ >p; exec sleep 60' & cat p"
		r := run(t, e, executor.Request{Policy: in(policy.WorkspaceWrite, realTempDir(t)), Command: command})
		if took := time.Since(begin); took > testGrace+testLate || r.Exit.Failed() {
			t.Errorf("it took %s: %+v", took, r.Exit)
		}
		if pid := number(stdout(r)[:len(stdout(r))-1]); unix.Kill(pid, unix.SIGKILL) == nil {
			gone(pid)
		}
	})
}
