package broker

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// Threads are operating system threads that brokers answer on, with identities of
// their own. One is there from the start: a command can use up the threads that a
// user may have, and Go ends a program that cannot have another.
type Threads struct {
	kept uint64
	jobs chan func(*thread)
	idle atomic.Int32
	end  sync.Once
}

// spare is how many threads without work are kept.
const spare = 2

// NewThreads starts the first thread. kept are the capabilities that a command may
// have, as a bit mask: the threads give up all others.
func NewThreads(kept uint64) (*Threads, error) {
	ts := &Threads{kept: kept, jobs: make(chan func(*thread))}
	started := make(chan error)
	ts.start(func(t *thread, err error) { started <- err })
	return ts, <-started
}

// Close ends the threads that have nothing to do. The others end when they have.
func (ts *Threads) Close() { ts.end.Do(func() { close(ts.jobs) }) }

// do has the job done by a thread that waits, or by a new one. The job is told
// where there can be none.
func (ts *Threads) do(job func(*thread, error)) {
	select {
	case ts.jobs <- func(t *thread) { job(t, nil) }:
	default:
		ts.start(job)
	}
}

func (ts *Threads) start(first func(*thread, error)) {
	go func() {
		runtime.LockOSThread() // never unlocked: it ends with all that it became
		t, err := newThread(ts.kept)
		first(t, err)
		if err == nil {
			ts.serve(t)
		}
	}()
}

// serve does what comes, while the thread is needed and fit for it.
func (ts *Threads) serve(t *thread) {
	for !t.spoiled {
		if ts.idle.Add(1) > spare {
			ts.idle.Add(-1)
			return
		}
		job, open := <-ts.jobs
		ts.idle.Add(-1)
		if !open {
			return
		}
		job(t)
	}
}
