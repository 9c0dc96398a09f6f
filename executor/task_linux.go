package executor

import (
	"context"
	"errors"
	"sync"
)

// Task is a command in the background, started by Start. It is safe for use by
// several goroutines.
type Task struct {
	id, owner string
	running   *running
	kill      context.CancelFunc
	done      chan struct{} // closed after result, err and status were set

	reading sync.Mutex // one read at a time
	stdout  *pump
	stderr  *pump

	mu     sync.Mutex
	result Result
	err    error
	status Status
}

// Start starts the spec's command in the background and returns when it runs.
// An error means that it did not, and is what Run would give, or a
// *TooManyTasksError: at most 1024 tasks run at a time, and 64 of one owner.
//
// A task has no timeout but the one that its request named. It ends by itself, or
// by that timeout, Kill or Close, of which the first counts; what it then left
// behind is killed like that of a run. It is remembered after its end: see
// Executor.Task.
func (e *Executor) Start(s Spec) (*Task, error) {
	if err := e.tasks.reserve(s.Owner); err != nil {
		var many *TooManyTasksError
		if errors.As(err, &many) {
			return nil, err
		}
		return nil, unavailable(s, "keeper", err)
	}
	s.Timeout = s.TaskTimeout
	r, _, err := e.begin(context.Background(), s, background)
	if err != nil {
		e.tasks.free(s.Owner)
		e.tasks.running.Done()
		return nil, err
	}
	ctx, kill := context.WithCancel(context.Background())
	t := &Task{
		owner: s.Owner, running: r, kill: kill, done: make(chan struct{}), stdout: r.streams.stdout, stderr: r.streams.stderr,
		result: r.known(), status: Status{State: TaskRunning},
	}
	e.tasks.add(t)
	go t.live(ctx, e)
	return t, nil
}

// live is the task's life from its start on.
func (t *Task) live(ctx context.Context, e *Executor) {
	defer e.tasks.running.Done()
	defer t.kill()
	result, err := t.running.end(ctx)
	t.running.streams.close()
	t.settle(result, err)
	e.tasks.free(t.owner) // who waited for the end may start another
	close(t.done)
	if e.config.OnTaskDone != nil {
		e.config.OnTaskDone(t)
	}
}

// settle keeps what is known. The tails are left to the reads: who reads all of
// a task holds none of it any more.
func (t *Task) settle(result Result, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	result.Stdout.Tail, result.Stderr.Tail = nil, nil
	t.result, t.err, t.status = result, err, result.status(err)
	t.running = nil
	t.stdout.trim()
	t.stderr.trim()
}

func (t *Task) settled() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// ID is the task's name in its executor: "bash-1", "bash-2" and so on, in the
// order in which tasks were started.
func (t *Task) ID() string { return t.id }

// Owner is the Spec's owner; empty is nobody.
func (t *Task) Owner() string { return t.owner }

// Done is closed when the task has ended, all of its output is read, and Result
// has everything.
func (t *Task) Done() <-chan struct{} { return t.done }

// Status is how the task stands now.
func (t *Task) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

// Result is what is known of the command, as from Run, but without the tails of
// its output: ReadOutput gives that. Until Done is closed only Report, Timeout and
// Scrubbed are set. The error is ErrUnkillable or ErrEndUnknown as from Run.
func (t *Task) Result() (Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.result, t.err
}

// ReadOutput returns what the command wrote since the previous ReadOutput, of
// anybody. No byte is given twice; what memory had to drop meanwhile is told by
// Delta.Lossy. It never waits for the command.
func (t *Task) ReadOutput() TaskOutput {
	t.reading.Lock()
	defer t.reading.Unlock()
	out := TaskOutput{Status: t.Status()} // first: an ended task writes no more
	out.Stdout, out.Stderr = t.stdout.next(), t.stderr.next()
	return out
}

// Kill ends the task: SIGTERM to its process group, and SIGKILL after the grace
// time. It reports whether the task was still running, and returns when it is done
// or ctx ends, which does not keep it from being killed.
func (t *Task) Kill(ctx context.Context) bool {
	t.mu.Lock()
	r := t.running
	t.mu.Unlock()
	if r == nil {
		return false
	}
	select {
	case <-r.process.Done(): // by itself, and what it wrote is being read
		t.await(ctx)
		return t.Status().State == TaskKilled
	default:
	}
	t.kill()
	t.await(ctx)
	state := t.Status().State
	return state == TaskKilled || state == TaskRunning || state == TaskUnknown
}

func (t *Task) await(ctx context.Context) {
	select {
	case <-t.done:
	case <-ctx.Done():
	}
}
