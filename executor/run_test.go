package executor

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/keeper"
)

func resolve(t *testing.T, e *Executor, r Request) Spec {
	t.Helper()
	s, err := e.Resolve(r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestOneWriterForBoth gets one write at a time; the race detector tells.
func TestOneWriterForBoth(t *testing.T) {
	var both bytes.Buffer
	e := newExecutor(t, Config{})
	s := resolve(t, e, Request{Command: "for i in $(seq 200); do echo out; echo err >&2; done", Stdout: &both, Stderr: &both})
	if _, err := e.Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(both.String(), "out\n") + strings.Count(both.String(), "err\n"); got != 400 {
		t.Errorf("%d lines arrived, wanted 400", got)
	}
}

// TestCloseDuringRun ends the run, which says that it did not end by itself.
func TestCloseDuringRun(t *testing.T) {
	e := newExecutor(t, Config{})
	s := resolve(t, e, Request{Command: "echo begun; sleep 60; true", Stdout: closer{e}})
	r, err := e.Run(t.Context(), s)
	if err != nil || !r.Exit.Aborted || r.Exit.Signal != "SIGKILL" {
		t.Errorf("got %+v, %v; wanted an aborted run", r.Exit, err)
	}
	if _, err := e.Run(t.Context(), s); !errors.Is(err, keeper.ErrGone) {
		t.Errorf("a run after Close gave %v, wanted %v", err, keeper.ErrGone)
	}
}

// closer closes its executor when the command writes.
type closer struct{ e *Executor }

func (c closer) Write(b []byte) (int, error) {
	go c.e.Close()
	return len(b), nil
}

// TestStuckReader: a reader that never comes back does not hold a run that was
// cut short.
func TestStuckReader(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	e := newExecutor(t, Config{Grace: 100 * time.Millisecond})
	s := resolve(t, e, Request{Command: "yes", Timeout: 300 * time.Millisecond, Stdout: stuck{release}})
	begin := time.Now()
	r, err := e.Run(t.Context(), s)
	if err != nil || !r.Exit.TimedOut || time.Since(begin) > 3*time.Second {
		t.Errorf("got %+v, %v after %v; wanted a timeout", r.Exit, err, time.Since(begin))
	}
}

type stuck struct{ release chan struct{} }

func (s stuck) Write(b []byte) (int, error) {
	<-s.release
	return len(b), nil
}

// TestWhatLeftTheGroup holds the pipe; a run that was cut short does not wait
// for it.
func TestWhatLeftTheGroup(t *testing.T) {
	e := newExecutor(t, Config{})
	s := resolve(t, e, Request{Command: "setsid sleep 4 & sleep 60; true", Timeout: 200 * time.Millisecond})
	begin := time.Now()
	r, err := e.Run(t.Context(), s)
	if err != nil || !r.Exit.TimedOut || time.Since(begin) > 2*time.Second {
		t.Errorf("got %+v, %v after %v; wanted a timeout", r.Exit, err, time.Since(begin))
	}
}

func TestCancelledBeforeItRan(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Interrupt{syscall.SIGHUP})
	e := newExecutor(t, Config{})
	r, err := e.Run(ctx, resolve(t, e, Request{Command: "sleep 5; true"}))
	var i Interrupt
	if err == nil && !r.Exit.Aborted || err != nil && (!errors.As(err, &i) || i.Signal != syscall.SIGHUP) {
		t.Errorf("got %+v, %v; wanted an interrupted run", r.Exit, err)
	}
}

func TestTooMuchEnvironment(t *testing.T) {
	e := newExecutor(t, Config{})
	for _, size := range []int{4 << 20, 18 << 20} {
		_, err := e.Run(t.Context(), resolve(t, e, Request{Command: "true", Env: []string{"X=" + strings.Repeat("x", size)}}))
		var start *StartError
		if !errors.As(err, &start) || start.Errno != syscall.E2BIG {
			t.Errorf("an environment of %d bytes gave %v, wanted E2BIG", size, err)
		}
	}
}

func TestRealTimeSignal(t *testing.T) {
	e := newExecutor(t, Config{})
	r, err := e.Run(t.Context(), resolve(t, e, Request{Command: "kill -35 $$"}))
	if err != nil || r.Exit.Signal != "SIG35" || r.Exit.Code != 163 {
		t.Errorf("got %+v, %v; wanted SIG35", r.Exit, err)
	}
}

// TestNoTimeForAGroup: what comes before the command ends with its context and its
// time, and nothing runs.
func TestNoTimeForAGroup(t *testing.T) {
	e := newExecutor(t, Config{})
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if _, err := e.Run(ctx, resolve(t, e, Request{Command: "true"})); !errors.Is(err, enough) {
		t.Errorf("cancelled: got %v", err)
	}
	var u *UnavailableError
	_, err := e.Run(t.Context(), resolve(t, e, Request{Command: "true", Timeout: 1}))
	if !errors.As(err, &u) || !errors.Is(err, errNoGroup) && !errors.Is(err, errNoAnswer) {
		t.Errorf("without time: got %v", err)
	}
}
