package broker

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxWorkers bounds the threads of one run. A second one is needed only while
	// the first waits for a file system.
	maxWorkers = 8
	// linger is how long a worker waits for the next call before the poller does:
	// waking it costs more than a call.
	linger = 20 * time.Millisecond
	// patience is how long a call may take before another worker takes the next.
	patience = 50 * time.Millisecond
	// farewell is how long the end waits for a worker that hangs in a file system.
	farewell = time.Second
)

// worker is one thread that answers calls, one after the other.
type worker struct {
	broker *Broker
	cold   chan struct{} // closed when it has left off

	mu      sync.Mutex
	since   time.Time // since when it answers a call; zero between calls
	deposed bool      // another one takes the next call
}

// serve has calls answered until none has come for a while. One worker takes
// them; where a call hangs it is left to it, and another takes the next.
func (b *Broker) serve() {
	w := b.hire()
	tick := time.NewTicker(patience)
	defer tick.Stop()
	for !b.closed.Load() {
		select {
		case <-w.cold:
			return
		case <-tick.C:
		}
		if w.depose() {
			if w = b.hire(); w == nil {
				return
			}
		}
	}
}

// hire puts a worker to work. While all there may be hang, calls are turned away; nil
// where the broker ends first.
func (b *Broker) hire() *worker {
	for b.workers.Load() >= maxWorkers {
		if b.closed.Load() || !b.turnAway() {
			return nil
		}
	}
	b.workers.Add(1)
	w := &worker{broker: b, cold: make(chan struct{})}
	b.threads.do(w.run)
	return w
}

// turnAway answers EAGAIN to a call, which needs no look at any file. It is
// false at the end of the run.
func (b *Broker) turnAway() bool {
	n, got, err := b.take(patience)
	if got {
		err = b.reply(response{id: n.id, error: -int32(unix.EAGAIN)})
	}
	return err == nil
}

// dismiss waits for the workers.
func (b *Broker) dismiss() {
	for end := time.Now().Add(farewell); b.workers.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
}

// take waits that long for a call. An error ends the broker: one that cannot
// take calls would be told of them for ever.
func (b *Broker) take(wait time.Duration) (n notification, got bool, err error) {
	err = b.use(func(listener int) error {
		events, err := pending(listener, wait)
		if err == nil && events&unix.POLLIN == 0 && events != 0 {
			return errEnded
		}
		if err != nil || events == 0 {
			return err
		}
		n, err = receive(listener)
		got = err == nil
		return ignore(err, unix.ENOENT) // killed meanwhile
	})
	if err != nil && !errors.Is(err, errEnded) {
		b.fail(fmt.Errorf("take a call: %w", err))
	}
	return n, got, err
}

// errEnded says that nothing of the run is left.
var errEnded = errors.New("the run has ended")

// reply answers a call. A caller that cannot be answered would wait for ever: the
// broker ends, and the kernel answers.
func (b *Broker) reply(r response) error {
	err := b.use(func(listener int) error { return respond(listener, r) })
	if err != nil {
		b.fail(fmt.Errorf("answer a call: %w", err))
	}
	return err
}

func ignore(err error, expected unix.Errno) error {
	if errnoOf(err) == expected {
		return nil
	}
	return err
}

// run answers calls on a thread until there are none. What breaks it ends the
// broker, and the thread is not used again.
func (w *worker) run(t *thread, err error) {
	defer close(w.cold)
	defer w.broker.workers.Add(-1)
	if err != nil {
		w.broker.fail(err)
		return
	}
	defer func() {
		if r := recover(); r != nil {
			t.spoiled = true
			w.broker.fail(fmt.Errorf("the broker failed: %v", r))
		}
	}()
	defer t.forget()
	for w.next(t) {
	}
}

// next answers one call. It is false when the worker leaves off.
func (w *worker) next(t *thread) bool {
	b := w.broker
	n, got, err := b.take(linger)
	if err != nil || !got {
		return false
	}
	w.begin()
	own := t.now
	a := b.judge(t, n)
	err = b.reply(response{id: n.id, error: -int32(a.errno), value: a.value})
	if t.assume(own) != nil { // which spoils it
		return false
	}
	return w.finish() && err == nil && !t.spoiled
}

func (w *worker) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Now()
}

// finish is false where another worker took over.
func (w *worker) finish() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Time{}
	return !w.deposed
}

// depose takes the next call from a worker that hangs.
func (w *worker) depose() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deposed = !w.since.IsZero() && time.Since(w.since) > patience
	return w.deposed
}
