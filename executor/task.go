package executor

import "fmt"

// State is where a task stands.
type State string

const (
	// TaskRunning: it has not ended, or not all of its output is read yet.
	TaskRunning State = "running"
	// TaskCompleted: the command exited by itself.
	TaskCompleted State = "completed"
	// TaskKilled: we ended it: Kill, Close or its timeout, however it then exited.
	TaskKilled State = "killed"
	// TaskSignaled: a signal killed it that was not ours.
	TaskSignaled State = "killed by signal"
	// TaskUnknown: how it ended could not be learned, or it could not be killed;
	// Task.Result has the error.
	TaskUnknown State = "unknown"
)

// Status is how a task stands. Only State is set while it runs.
type Status struct {
	State State
	// Code is the exit status as in fact.Exit: 128 plus the number for a signal.
	Code int
	// Signal is the name of the signal that killed it, such as "SIGKILL"; empty
	// where none did. It may be set where State is TaskKilled.
	Signal string
}

// TaskOutput is what one ReadOutput gives.
type TaskOutput struct {
	Stdout, Stderr Delta
	// Status is that of the moment before the read: where it says that the task has
	// ended, this and the earlier reads have given all there will be.
	Status Status
}

// The most tasks that may run at a time.
const (
	maxTasks      = 1024 // of one executor
	maxOwnerTasks = 64   // of one owner; tasks of nobody count in the total only
)

// TooManyTasksError says that a task was not started, because as many run as may.
type TooManyTasksError struct {
	// Owner is whose tasks are too many; empty where those of all are.
	Owner string
	// Limit is how many may run at a time.
	Limit int
}

func (e *TooManyTasksError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("too many background tasks: %d are running", e.Limit)
	}
	return fmt.Sprintf("too many background tasks: %d of this owner are running", e.Limit)
}

// status tells an end.
func (r Result) status(err error) Status {
	s := Status{State: TaskCompleted, Code: r.Exit.Code, Signal: r.Exit.Signal}
	switch {
	case err != nil:
		s = Status{State: TaskUnknown}
	case r.Exit.TimedOut || r.Exit.Aborted:
		s.State = TaskKilled
	case r.Exit.Signal != "":
		s.State = TaskSignaled
	}
	return s
}
