package executor

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// patient bounds what a test waits for.
const patient = 30 * time.Second

func start(t *testing.T, e *Executor, r Request) *Task {
	t.Helper()
	task, err := e.Start(resolve(t, e, r))
	if err != nil {
		t.Fatal(err)
	}
	return task
}

func finish(t *testing.T, task *Task) Result {
	t.Helper()
	select {
	case <-task.Done():
	case <-time.After(patient):
		t.Fatal("the task does not end")
	}
	result, err := task.Result()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// readUntil reads until stdout has come that far.
func readUntil(t *testing.T, task *Task, want string) (out TaskOutput) {
	t.Helper()
	var got string
	for end := time.Now().Add(patient); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		out = task.ReadOutput()
		if got += string(out.Stdout.Data); got == want {
			return out
		}
	}
	t.Fatalf("read %q, wanted %q", got, want)
	return out
}

func TestTaskEnds(t *testing.T) {
	e := newExecutor(t, Config{Grace: 300 * time.Millisecond})
	for _, tt := range []struct {
		name    string
		request Request
		want    Status
		exit    fact.Exit
	}{
		{"well", Request{Command: "true"}, Status{State: TaskCompleted}, fact.Exit{}},
		{"its own 124", Request{Command: "exit 124"}, Status{State: TaskCompleted, Code: 124}, fact.Exit{Code: 124}},
		{"its own signal", Request{Command: "kill -TERM $$"}, Status{State: TaskSignaled, Code: 143, Signal: "SIGTERM"}, fact.Exit{Code: 143, Signal: "SIGTERM"}},
		{
			"the timeout it named",
			Request{Command: "sleep 60; true", Timeout: 2 * time.Second},
			Status{State: TaskKilled, Code: 143, Signal: "SIGTERM"},
			fact.Exit{Code: 143, Signal: "SIGTERM", TimedOut: true},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			task := start(t, e, tt.request)
			r := finish(t, task)
			if task.Status() != tt.want || r.Exit != tt.exit {
				t.Errorf("got %+v, %+v; wanted %+v, %+v", task.Status(), r.Exit, tt.want, tt.exit)
			}
			if task.Kill(t.Context()) {
				t.Error("it was killed after its end")
			}
		})
	}
}

// TestTaskIsReadAsItGoes: no byte is given twice, and offsets are those of the
// whole stream.
func TestTaskIsReadAsItGoes(t *testing.T) {
	e := newExecutor(t, Config{})
	task := start(t, e, Request{Command: `echo one; echo err >&2; read -t 60 x < <(sleep 60); true`})
	first := readUntil(t, task, "one\n")
	if first.Status != (Status{State: TaskRunning}) || first.Stdout.To != 4 || first.Stdout.Lossy {
		t.Errorf("got %+v", first)
	}
	if again := task.ReadOutput(); len(again.Stdout.Data) > 0 || again.Stdout.From != 4 {
		t.Errorf("a second read gave %+v", again)
	}
	if result, err := task.Result(); err != nil || result.Report.Enforcement == "" {
		t.Errorf("a running task has no report: %+v, %v", result, err)
	}
	if !task.Kill(t.Context()) || task.Status().State != TaskKilled {
		t.Errorf("after the kill it is %+v", task.Status())
	}
}

// TestTaskServes is a server between two other calls: it lives until it is killed,
// and is then killed and never completed, also where it takes SIGTERM for an end.
func TestTaskServes(t *testing.T) {
	e := newExecutor(t, Config{})
	task := start(t, e, Request{Command: "trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done"})
	readUntil(t, task, "ready\n")
	for range 2 {
		if _, err := e.Run(t.Context(), resolve(t, e, Request{Command: "sleep 60 & true"})); err != nil {
			t.Fatal(err)
		}
	}
	if s := task.Status(); s.State != TaskRunning {
		t.Fatalf("after two calls it is %+v", s)
	}
	if !task.Kill(t.Context()) {
		t.Error("it was not running")
	}
	out := task.ReadOutput()
	if string(out.Stdout.Data) != "bye\n" || out.Status != (Status{State: TaskKilled}) || task.Kill(t.Context()) {
		t.Errorf("got %+v", out)
	}
}

// TestTaskIgnoresTerm is killed after the grace time, and its child with it.
func TestTaskIgnoresTerm(t *testing.T) {
	e := newExecutor(t, Config{Grace: 200 * time.Millisecond})
	task := start(t, e, Request{Command: "trap '' TERM; echo ready; sleep 60; true"})
	readUntil(t, task, "ready\n")
	begin := time.Now()
	if !task.Kill(t.Context()) || task.Status().Signal != "SIGKILL" || time.Since(begin) > 5*time.Second {
		t.Errorf("got %+v after %v", task.Status(), time.Since(begin))
	}
}

// TestKillDoesNotWaitForEver: who kills may go, and the kill goes on.
func TestKillDoesNotWaitForEver(t *testing.T) {
	e := newExecutor(t, Config{Grace: 300 * time.Millisecond})
	task := start(t, e, Request{Command: "trap '' TERM; echo ready; while :; do sleep 1; done"})
	readUntil(t, task, "ready\n")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if !task.Kill(gone) {
		t.Error("it was not running")
	}
	finish(t, task)
}

// TestTaskFacts: what was denied and reached is there when Done is closed, and who
// waits is told once.
func TestTaskFacts(t *testing.T) {
	told := make(chan *Task, 9)
	e := newExecutor(t, Config{OnTaskDone: func(t *Task) { told <- t }})
	target := t.TempDir() + "/x"
	task := start(t, e, Request{Command: "echo x > " + target, Owner: "a"})
	r := finish(t, task)
	if !r.Denied || len(r.Denials) != 1 || r.Denials[0].Path != target || r.Report.Enforcement == "" || r.Usage.MaxRSS == 0 {
		t.Errorf("got %+v", r)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if got := <-told; got != task || len(told) > 0 {
		t.Errorf("told of %v, and %d more", got, len(told))
	}
}

func TestStartRefuses(t *testing.T) {
	var done atomic.Int32
	e := newExecutor(t, Config{OnTaskDone: func(*Task) { done.Add(1) }})
	s := resolve(t, e, Request{Command: "true"})
	s.Program = "/nonexistent"
	var start *StartError
	if _, err := e.Start(s); !errors.As(err, &start) {
		t.Errorf("a program that is not there gave %v", err)
	}
	s = resolve(t, e, Request{Command: "true"})
	e.helper = "/bin/false" // the runner itself fails
	if _, err := e.Start(s); !errors.Is(err, ErrSandboxUnavailable) {
		t.Errorf("a helper that fails gave %v", err)
	}
	if done.Load() != 0 || len(e.Tasks("")) != 0 {
		t.Errorf("%d ends were told of %d tasks that never ran", done.Load(), len(e.Tasks("")))
	}
	e.Close()
	if _, err := e.Start(s); !errors.Is(err, keeper.ErrGone) || !errors.Is(err, ErrSandboxUnavailable) {
		t.Errorf("a start after Close gave %v", err)
	}
}

// TestTaskNames: owners and numbers.
func TestTaskNames(t *testing.T) {
	e := newExecutor(t, Config{})
	for i, owner := range []string{"a", "", "a"} {
		task := start(t, e, Request{Command: "true", Owner: owner})
		if want := fmt.Sprintf("bash-%d", i+1); task.ID() != want || task.Owner() != owner {
			t.Errorf("got %s of %q", task.ID(), task.Owner())
		}
		if found, ok := e.Task(task.ID()); !ok || found != task {
			t.Errorf("%s is not found", task.ID())
		}
	}
	if a, nobody := e.Tasks("a"), e.Tasks(""); len(a) != 2 || a[1].ID() != "bash-3" || len(nobody) != 1 {
		t.Errorf("got %d and %d tasks", len(a), len(nobody))
	}
	if _, ok := e.Task("bash-4"); ok {
		t.Error("bash-4 is found")
	}
}

func TestCloseEndsTasks(t *testing.T) {
	var done atomic.Int32
	e := newExecutor(t, Config{OnTaskDone: func(*Task) { time.Sleep(50 * time.Millisecond); done.Add(1) }})
	var list []*Task
	for range 8 {
		list = append(list, start(t, e, Request{Command: "echo begun; sleep 60; true"}))
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if done.Load() != 8 {
		t.Errorf("Close returned after %d of 8 ends", done.Load())
	}
	for _, task := range list {
		if s := task.Status(); s.State != TaskKilled {
			t.Errorf("%s is %+v", task.ID(), s)
		}
	}
}

// TestTooManyTasks counts without starting them.
func TestTooManyTasks(t *testing.T) {
	e := newExecutor(t, Config{})
	refused := func(owner string) (limit int) {
		_, err := e.Start(resolve(t, e, Request{Command: "true", Owner: owner}))
		var many *TooManyTasksError
		if errors.As(err, &many) {
			return many.Limit
		}
		return 0
	}
	fill := func(owner string, n int) {
		for range n {
			if err := e.tasks.reserve(owner); err != nil {
				t.Fatal(err)
			}
			defer func() { e.tasks.running.Done() }()
		}
	}
	fill("a", maxOwnerTasks)
	if refused("a") != maxOwnerTasks || refused("b") != 0 {
		t.Error("64 tasks of one owner do not fill that owner's places, or fill another's")
	}
	finish(t, e.Tasks("b")[0])
	fill("", maxTasks-maxOwnerTasks)
	if refused("b") != maxTasks {
		t.Error("1024 tasks do not fill all places")
	}
	e.tasks.free("a")
	if refused("a") != 0 {
		t.Error("a place that is free again is refused")
	}
	finish(t, e.Tasks("a")[0])
}

// TestTasksAreForgotten: an executor does not grow.
func TestTasksAreForgotten(t *testing.T) {
	e := newExecutor(t, Config{})
	for range keptOwnerDone + 5 {
		finish(t, start(t, e, Request{Command: "true", Owner: "a"}))
	}
	kept := e.Tasks("a")
	if _, found := e.Task("bash-1"); found || len(kept) > keptOwnerDone+1 {
		t.Errorf("%d tasks are remembered, the first among them: %v", len(kept), found)
	}
}

// TestTaskFromLockedThread: the thread that asks may end before the command does.
func TestTaskFromLockedThread(t *testing.T) {
	e := newExecutor(t, Config{})
	tasks := make(chan *Task)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		task, _ := e.Start(Spec(resolve(t, e, Request{Command: "sleep 0.5; echo lived"})))
		tasks <- task
	}()
	task := <-tasks
	if r := finish(t, task); r.Exit.Failed() {
		t.Errorf("got %+v", r.Exit)
	}
	if out := task.ReadOutput(); string(out.Stdout.Data) != "lived\n" {
		t.Errorf("got %q", out.Stdout.Data)
	}
}
