package executor

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTaskFloods: what memory dropped is told, and is in the file.
func TestTaskFloods(t *testing.T) {
	e := newExecutor(t, Config{})
	task := start(t, e, Request{Command: "head -c 1000000 /dev/zero | tr '\\0' x", Owner: "a"})
	finish(t, task)
	d := task.ReadOutput().Stdout
	if d.From != 1_000_000-tailLimit || d.To != 1_000_000 || !d.Lossy || len(d.Data) != tailLimit || d.SpillError != nil {
		t.Errorf("got %d bytes, %d to %d, lossy %v, %v", len(d.Data), d.From, d.To, d.Lossy, d.SpillError)
	}
	wantSpill(t, d.Spill, strings.Repeat("x", 1_000_000))
	if again := task.ReadOutput().Stdout; len(again.Data) != 0 || again.Lossy || again.From != 1_000_000 || again.Spill != d.Spill {
		t.Errorf("read again: %+v", again)
	}
}

// TestTaskLeavesSomething: what it leaves in the background does not hold its end
// back, and is killed.
func TestTaskLeavesSomething(t *testing.T) {
	e := newExecutor(t, Config{Grace: time.Second})
	begin := time.Now()
	task := start(t, e, Request{Command: "sleep 60 & echo started"})
	r := finish(t, task)
	if out := task.ReadOutput(); string(out.Stdout.Data) != "started\n" || r.Exit.Failed() || time.Since(begin) > 10*time.Second {
		t.Errorf("got %q, %+v after %v", out.Stdout.Data, r.Exit, time.Since(begin))
	}
}

// TestTaskTimeoutKeepsOutput: a pipeline that waits is ended at the timeout, and
// what was written before is there.
func TestTaskTimeoutKeepsOutput(t *testing.T) {
	e := newExecutor(t, Config{Grace: time.Second})
	task := start(t, e, Request{Command: "echo CRITICAL; (sleep 20) | cat", Timeout: 2 * time.Second})
	r := finish(t, task)
	out := task.ReadOutput()
	if string(out.Stdout.Data) != "CRITICAL\n" || !r.Exit.TimedOut || r.Exit.Aborted || out.Status.State != TaskKilled {
		t.Errorf("got %q, %+v, %+v", out.Stdout.Data, r.Exit, out.Status)
	}
}

// TestTaskReadsAreWhole: with two readers, of any bytes, none is missing and none
// comes twice.
func TestTaskReadsAreWhole(t *testing.T) {
	e := newExecutor(t, Config{})
	want, err := os.ReadFile("/bin/bash") // as good as any bytes that are not UTF-8
	if err != nil {
		t.Fatal(err)
	}
	task := start(t, e, Request{Command: "cat /bin/bash; printf 'a\\303'"})
	want = append(want, "a\xc3"...)
	deltas := make(chan Delta)
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for state := TaskRunning; state == TaskRunning; {
				out := task.ReadOutput()
				state = out.Status.State
				deltas <- out.Stdout
			}
		})
	}
	go func() { readers.Wait(); close(deltas) }()
	var got, dropped int64
	var starts []int64
	for d := range deltas {
		if !bytes.Equal(d.Data, want[d.From:d.To]) {
			t.Errorf("%d to %d is not what was written there", d.From, d.To)
		}
		got += d.To - d.From
		if len(d.Data) > 0 {
			starts = append(starts, d.From)
		}
		if d.Lossy {
			dropped++
		}
	}
	slices.Sort(starts)
	if len(slices.Compact(starts)) != len(starts) || got > int64(len(want)) || dropped == 0 && got != int64(len(want)) {
		t.Errorf("%d of %d bytes came, lossy %d times", got, len(want), dropped)
	}
}
