package executor

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// Interrupt, as the cause of a cancelled context, is the signal that a run
// gets first; without it that is SIGTERM.
type Interrupt struct{ Signal syscall.Signal }

func (i Interrupt) Error() string { return "interrupted by " + signalName(i.Signal) }

// ErrUnkillable says that a command outlived SIGKILL, as one can that took
// another user's identity. It runs on.
var ErrUnkillable = errors.New("the command could not be killed and runs on")

// ErrEndUnknown says that a command ran and that how it ended could not be
// learned, because its keeper is gone or the kernel does not tell.
var ErrEndUnknown = errors.New("how the command ended could not be learned")

// cause is what ended a run first.
type cause uint8

const (
	byItself cause = iota
	byTimeout
	byCaller
)

// supervise waits for the command's end, and brings it about when the time is
// over or the caller gives up. The first cause wins.
func supervise(ctx context.Context, s Spec, p *keeper.Process) (cause, error) {
	var timeout <-chan time.Time
	if s.Timeout > 0 {
		timer := time.NewTimer(s.Timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-p.Done():
		if p.Closed() || ctx.Err() != nil {
			return byCaller, nil
		}
		if p.Late() {
			return byTimeout, nil
		}
		return byItself, nil
	case <-timeout:
		return byTimeout, stop(p, syscall.SIGTERM, s.Grace)
	case <-ctx.Done():
		return byCaller, stop(p, firstSignal(ctx), s.Grace)
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
func stop(p *keeper.Process, first syscall.Signal, grace time.Duration) error {
	_ = p.Signal(first)
	if ended(p, grace) {
		return nil
	}
	_ = p.Signal(syscall.SIGKILL)
	if ended(p, max(grace, keeper.EndPatience)) {
		return nil
	}
	return ErrUnkillable
}

func ended(p *keeper.Process, within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.Done():
		return true
	case <-timer.C:
		return false
	}
}

// shortDrain is how long end of file is waited for where a run was cut short:
// what still holds a pipe then has left the process group.
const shortDrain = 200 * time.Millisecond

// drain is how long end of file is waited for, and what ends the wait for a
// slow reader: the caller's end, or a short time where the run was cut short.
func (c cause) drain(ctx context.Context, grace time.Duration) (time.Duration, <-chan struct{}) {
	if c == byItself {
		return grace, ctx.Done()
	}
	over := make(chan struct{})
	time.AfterFunc(2*shortDrain, func() { close(over) })
	return shortDrain, over
}

func exit(status syscall.WaitStatus, c cause) fact.Exit {
	e := fact.Exit{Code: status.ExitStatus(), TimedOut: c == byTimeout, Aborted: c == byCaller}
	if status.Signaled() {
		e.Code, e.Signal = 128+int(status.Signal()), signalName(status.Signal())
	}
	return e
}

// signalName is a signal's symbol; a real-time signal has none but its number.
func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(s))
}
