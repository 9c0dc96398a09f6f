package executor

import (
	"context"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// Interrupt, as the cause of a cancelled context, is the signal that a run
// gets first; without it that is SIGTERM.
type Interrupt struct{ Signal syscall.Signal }

func (i Interrupt) Error() string { return "interrupted by " + unix.SignalName(i.Signal) }

// cause is what ended a run first.
type cause uint8

const (
	byItself cause = iota
	byTimeout
	byCaller
)

// supervise waits for the command's end, and brings it about when the time is
// over or the caller gives up. The first cause wins.
func supervise(ctx context.Context, s Spec, p *keeper.Process) cause {
	var timeout <-chan time.Time
	if s.Timeout > 0 {
		timer := time.NewTimer(s.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-p.Done():
		return byItself
	case <-timeout:
		stop(p, syscall.SIGTERM, s.Grace)
		return byTimeout
	case <-ctx.Done():
		stop(p, firstSignal(ctx), s.Grace)
		return byCaller
	}
}

func firstSignal(ctx context.Context) syscall.Signal {
	var i Interrupt
	if errors.As(context.Cause(ctx), &i) {
		return i.Signal
	}
	return syscall.SIGTERM
}

// stop asks first and then does not. Sending fails only where the keeper is
// gone, and then Done is closed.
func stop(p *keeper.Process, first syscall.Signal, grace time.Duration) {
	_ = p.Signal(first)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.Done():
		return
	case <-timer.C:
	}
	_ = p.Signal(syscall.SIGKILL)
	<-p.Done()
}

// giveUp is closed when output need not be waited for any longer because its
// reader is slow: at once where the run was cut short.
func giveUp(ctx context.Context, c cause) <-chan struct{} {
	if c == byItself {
		return ctx.Done()
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

func exit(status syscall.WaitStatus, c cause) fact.Exit {
	e := fact.Exit{Code: status.ExitStatus(), TimedOut: c == byTimeout, Aborted: c == byCaller}
	if status.Signaled() {
		e.Code, e.Signal = 128+int(status.Signal()), unix.SignalName(status.Signal())
	}
	return e
}
