package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

const (
	hog = "head -c 200M /dev/zero | tail -c 150M | wc -c"
)

var (
	fork        = fmt.Sprintf("for i in {1..50}; do sleep %g & done; wait; exit 5", kerneltest.Slow(1200*time.Millisecond).Seconds())
	memory48    = policy.Limits{Memory: 48 << 20}
	processes20 = policy.Limits{Processes: 20}
)

// Case G04: three causes that look alike are told apart. A child that is killed
// for memory is a fact also where the shell ends well; kill -9 and a timeout are
// none.
func TestMemoryLimit(t *testing.T) {
	needs(t, kerneltest.Cgroups)
	if got := strings.TrimSpace(mustBash(t, "/", hog)); got != "157286400" {
		t.Fatalf("without a limit it prints %q", got)
	}
	reached := []fact.Limit{{Kind: fact.LimitMemory, Value: 48 << 20}}
	inWorlds(t, func(t *testing.T, w *placed) {
		for command, want := range map[string]struct {
			limits []fact.Limit
			exit   fact.Exit
		}{
			hog + "; exit 0":  {reached, fact.Exit{}},
			hog + "; exit 3":  {reached, fact.Exit{Code: 3}},
			"kill -9 0":       {nil, fact.Exit{Code: 137, Signal: "SIGKILL"}},
			"sleep 600; true": {nil, fact.Exit{Code: 143, Signal: "SIGTERM", TimedOut: true}},
			"exec bash -c 'x=$(head -c 60M /dev/zero | tr \"\\0\" x); sleep 9'": {reached, fact.Exit{Code: 137, Signal: "SIGKILL"}},
		} {
			timeout := patience
			if want.exit.TimedOut {
				timeout = kerneltest.Slow(time.Second)
			}
			end := w.ran(t, limitedRun{Command: command, Limits: memory48, Timeout: timeout})
			// An emulated machine frees so slowly what a killed process had that Linux
			// 7.3 kills the shell after it.
			if slow := kerneltest.Slow(1) > 1; slow && want.limits != nil && end.Exit.Signal == "SIGKILL" {
				want.exit = end.Exit
			}
			if !slices.Equal(end.Limits, want.limits) || end.Exit != want.exit || end.Denied {
				t.Errorf("%s: got %+v, %+v, denied %v, wanted %+v\n%s", command, end.Limits, end.Exit, end.Denied, want, end.Stderr)
			}
			if row := end.Rows[policy.PromiseLimits]; row.Status != fact.Enforced || !strings.Contains(row.Detail, kerneltest.GroupTitle(w.version)+": memory 48MiB, 4096 processes") {
				t.Errorf("the report says %+v", row)
			}
			if peak := end.Usage.PeakMemory; peak == 0 || peak > 48<<20 {
				t.Errorf("%s: a peak of %d bytes", command, peak)
			}
		}
	})
}

// A storm of processes comes up against the limit and is no denial.
func TestProcessLimit(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *placed) {
		end := w.ran(t, limitedRun{Command: fork, Limits: processes20, Timeout: kerneltest.Slow(20 * time.Second)})
		if !slices.Equal(end.Limits, []fact.Limit{{Kind: fact.LimitProcesses, Value: 20}}) || end.Exit.Code == 0 {
			t.Errorf("got %+v and %+v\n%s", end.Limits, end.Exit, end.Stderr)
		}
		if !strings.Contains(end.Stderr, "Resource temporarily unavailable") || end.Denied || len(end.Denials) > 0 {
			t.Errorf("denied %v, %+v\n%s", end.Denied, end.Denials, end.Stderr)
		}
		if peak := end.Usage.PeakProcesses; peak < 10 || peak > 20 {
			t.Errorf("a peak of %d processes", peak)
		}
		end = w.ran(t, limitedRun{Command: "for i in {1..9}; do sleep 0.1 & done; wait", Limits: processes20})
		if len(end.Limits) > 0 || end.Exit.Failed() {
			t.Errorf("below the limit: %+v and %+v\n%s", end.Limits, end.Exit, end.Stderr)
		}
	})
}

// What a command starts is gone with it, at its end and at a timeout, though each
// process is in a session of its own; also a bomb that is at its limit.
func TestBombIsGone(t *testing.T) {
	const job = `setsid bash -c 'echo $$ >>pids; sleep 300' & `
	const many, bomb = "for i in {1..12}; do " + job + "done; until [ \"$(cat pids 2>/dev/null | wc -l)\" -ge 12 ]; do sleep 0.05; done", "while :; do " + job + "done"
	inWorlds(t, func(t *testing.T, w *placed) {
		for _, command := range []string{many, bomb} {
			timeout := patience
			if command == bomb {
				timeout = kerneltest.Slow(2 * time.Second)
			}
			end := w.ran(t, limitedRun{Command: command, Limits: policy.Limits{Processes: 50}, Timeout: timeout, Grace: 100 * time.Millisecond})
			if end.Exit.TimedOut != (command == bomb) || (len(end.Limits) > 0) != (command == bomb) || command == many && end.Leftover < 12 {
				t.Errorf("got %+v and %+v, and %d left behind", end.Exit, end.Limits, end.Leftover)
			}
			if row := end.Rows[policy.PromiseTree]; row.Status != fact.Enforced || !strings.Contains(row.Detail, "control group, "+w.rung()) {
				t.Errorf("the report says %+v", row)
			}
			w.nothingLives(t)
		}
	})
}

// rung is how a kill goes in this world.
func (w world) rung() string {
	switch {
	case w.handed == nil, w.version == "v2", slices.Contains(w.handed, "unified"):
		return "cgroup.kill"
	case slices.Contains(w.handed, "freezer"):
		return "freezer"
	}
	return "signals to every member"
}

// nothingLives fails where a process lives whose number is in the file "pids".
func (p *placed) nothingLives(t *testing.T) {
	t.Helper()
	file := filepath.Join(p.workspace, "pids")
	pids := strings.Fields(read(t, file))
	for _, text := range pids {
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		if !gone(pid) {
			t.Errorf("process %d lives", pid)
		}
	}
	if len(pids) == 0 {
		t.Error("nothing was started")
	}
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}
}

// TestTreeInGroup: the library kills and counts also what has left the process
// group, and at a timeout asks it first.
func TestTreeInGroup(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *placed) {
		const stray = `setsid bash -c 'trap "echo asked >asked; exit" TERM; echo $$ >>pids; while :; do sleep 0.05; done' </dev/null >/dev/null 2>&1 & until [ -e pids ]; do sleep 0.01; done; `
		end := w.ran(t, limitedRun{Command: stray + "exit 7"})
		if end.Exit.Code != 7 || end.Leftover < 1 || end.Leftover > 2 {
			t.Errorf("got %+v and %d left behind", end.Exit, end.Leftover)
		}
		w.nothingLives(t)
		if exists(t, filepath.Join(w.workspace, "asked")) {
			t.Error("at the end of a command what is left is not asked")
		}
		end = w.ran(t, limitedRun{Command: stray + "trap : TERM; while :; do sleep 0.1; done", Timeout: kerneltest.Slow(500 * time.Millisecond), Grace: kerneltest.Slow(time.Second)})
		if !end.Exit.TimedOut || !exists(t, filepath.Join(w.workspace, "asked")) {
			t.Errorf("at a timeout: %+v, and it was not asked", end.Exit)
		}
		w.nothingLives(t)
	})
}

// TestProcessorLimit holds a loop to a twentieth of a processor. What it gets
// without a limit is less on a busy machine, but never so little.
func TestProcessorLimit(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *placed) {
		loop := limitedRun{Command: "while :; do :; done", Timeout: kerneltest.Slow(3 * time.Second), Grace: 50 * time.Millisecond}
		free := w.ran(t, loop).Usage
		loop.Limits.CPUs = 0.05
		end := w.ran(t, loop)
		held := end.Usage
		if free.Throttled != 0 || held.Throttled == 0 || 2*(held.User+held.System) > free.User+free.System {
			t.Errorf("without a limit %+v, with one %+v", free, held)
		}
		if !strings.Contains(end.Rows[policy.PromiseLimits].Detail, "0.05 processors") {
			t.Errorf("the report says %+v", end.Rows[policy.PromiseLimits])
		}
	})
}

// TestUsageOfTheTree: with a group the time of children that nobody waited for
// is in it, without one it is not.
func TestUsageOfTheTree(t *testing.T) {
	const command = "(setsid bash -c 'for ((i=0; i<300000; i++)); do :; done; touch done; sleep 90' &) ; until [ -e done ]; do sleep 0.02; done; rm done"
	inWorlds(t, func(t *testing.T, w *placed) {
		end := w.ran(t, limitedRun{Command: command})
		counts := w.handed == nil || slices.Contains(w.handed, "unified") || slices.Contains(w.handed, "cpuacct") || w.version == "v2"
		if used := end.Usage.User + end.Usage.System; end.Usage.Group != counts || counts != (used > 100*time.Millisecond) {
			t.Errorf("used %v, of the group %v, wanted %v", used, end.Usage.Group, counts)
		}
		if end.Usage.MaxRSS < 1<<20 {
			t.Errorf("the largest process had %d bytes", end.Usage.MaxRSS)
		}
	})
}
