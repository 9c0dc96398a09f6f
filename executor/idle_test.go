package executor

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestIdleTasks: a task that waits holds no thread. IDLE_TASKS=1000 measures the
// most; the figure is in docs/decisions/0030-output-and-tasks.md.
func TestIdleTasks(t *testing.T) {
	tasks, err := strconv.Atoi(os.Getenv("IDLE_TASKS"))
	if err != nil {
		tasks = 60
	}
	e := newExecutor(t, Config{Grace: time.Second})
	finish(t, start(t, e, Request{Command: "true"}))
	debug.FreeOSMemory()
	threads, files, memory := count(t, "task"), count(t, "fd"), resident(t)
	for i := range tasks {
		start(t, e, Request{Argv: []string{"/bin/sleep", "600"}, Owner: fmt.Sprint(i / maxOwnerTasks)})
	}
	debug.FreeOSMemory()
	time.Sleep(time.Second)
	cpu := processorTime(t)
	time.Sleep(2 * time.Second)
	t.Logf("%d tasks: %d threads more, %d descriptors more, %d KiB more, %d ticks of processor time in 2 s", tasks,
		count(t, "task")-threads, count(t, "fd")-files, resident(t)-memory, processorTime(t)-cpu)
	if more := count(t, "task") - threads; more > 20 {
		t.Errorf("%d tasks hold %d threads", tasks, more)
	}
	begin := time.Now()
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("closed in %v", time.Since(begin))
}

// resident is the memory of this process in KiB.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	n, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// processorTime is that of this process, in ticks of 10 ms.
func processorTime(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')'):]))
	user, _ := strconv.Atoi(fields[12])
	system, _ := strconv.Atoi(fields[13])
	return user + system
}
