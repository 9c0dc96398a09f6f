package executor

import (
	"slices"
	"strconv"
	"sync"

	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// keptDone is how many tasks that are done an executor remembers, so that they
// can still be read. The oldest are forgotten first, and an owner's own first.
const (
	keptDone      = 1024
	keptOwnerDone = 64
)

// tasks are those of an executor. The zero value has none.
type tasks struct {
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	last   int            // number
	live   int            // running, or about to
	owned  map[string]int // the same of each owner that has any
	list   []*Task        // in the order of their starts
}

// reserve takes a place for a task of the owner.
func (ts *tasks) reserve(owner string) error {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	switch {
	case ts.closed:
		return keeper.ErrGone
	case owner != "" && ts.owned[owner] >= maxOwnerTasks:
		return &TooManyTasksError{Owner: owner, Limit: maxOwnerTasks}
	case ts.live >= maxTasks:
		return &TooManyTasksError{Limit: maxTasks}
	}
	if ts.owned == nil {
		ts.owned = map[string]int{}
	}
	ts.live++
	ts.owned[owner]++
	ts.running.Add(1)
	return nil
}

// free gives a place back. A task that was done may now be forgotten.
func (ts *tasks) free(owner string) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.live--
	if ts.owned[owner]--; ts.owned[owner] == 0 {
		delete(ts.owned, owner)
	}
	if owner != "" {
		ts.forget(keptOwnerDone, func(t *Task) bool { return t.owner == owner })
	}
	ts.forget(keptDone, func(*Task) bool { return true })
}

// forget drops the oldest that are done where more than most are.
func (ts *tasks) forget(most int, which func(*Task) bool) {
	done := 0
	for _, t := range ts.list {
		if which(t) && t.settled() {
			done++
		}
	}
	ts.list = slices.DeleteFunc(ts.list, func(t *Task) bool {
		drop := done > most && which(t) && t.settled()
		if drop {
			done--
		}
		return drop
	})
}

// add names a task and remembers it.
func (ts *tasks) add(t *Task) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.last++
	t.id = "bash-" + strconv.Itoa(ts.last)
	ts.list = append(ts.list, t)
}

func (ts *tasks) close() {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.closed = true
}

func (ts *tasks) wait() { ts.running.Wait() }

// Task returns the task of that id, whoever owns it: to ask who may is the
// caller's. It is false for an id that never was, and for a task that was done so
// long ago that it is forgotten: 64 later ones of its owner are done as well, or
// 1024 of all.
func (e *Executor) Task(id string) (*Task, bool) {
	e.tasks.mu.Lock()
	defer e.tasks.mu.Unlock()
	i := slices.IndexFunc(e.tasks.list, func(t *Task) bool { return t.id == id })
	if i < 0 {
		return nil, false
	}
	return e.tasks.list[i], true
}

// Tasks lists the tasks of the owner that are not forgotten, in the order in
// which they were started; with an empty owner those of nobody.
func (e *Executor) Tasks(owner string) []*Task {
	e.tasks.mu.Lock()
	defer e.tasks.mu.Unlock()
	var list []*Task
	for _, t := range e.tasks.list {
		if t.owner == owner {
			list = append(list, t)
		}
	}
	return list
}
