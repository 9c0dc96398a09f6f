package integration

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Case G02: a limit that was asked and cannot be held keeps the command from
// running; one that was not asked is reported.
func TestNoDelegation(t *testing.T) {
	needs(t, kerneltest.Root, kerneltest.Cgroups)
	w := world{name: "user without a group", uid: 1000, named: true}.place(t)
	w.groups = []string{""}
	for _, asked := range []struct {
		limits policy.Limits
		want   string
	}{
		{memory48, "memory 48MiB: no control group: "},
		{processes20, "20 processes: no control group: "},
		{policy.Limits{CPUs: 2}, "2 processors: no control group: "},
		{policy.Limits{OpenFiles: 1 << 29}, "536870912 open files: this process itself may have no more than "},
	} {
		end := w.run(t, limitedRun{Command: "touch ran", Limits: asked.limits})
		if end.Stage != "limits" || !strings.Contains(end.Error, asked.want) || exists(t, filepath.Join(w.workspace, "ran")) {
			t.Errorf("%s: stage %q, %s", asked.limits, end.Stage, end.Error)
		}
	}
	end := w.ran(t, limitedRun{Command: "touch ran"})
	row := end.Rows[policy.PromiseLimits]
	if row.Status != fact.NotAsked || !strings.Contains(row.Detail, "no process limit: ") || !exists(t, filepath.Join(w.workspace, "ran")) {
		t.Errorf("the report says %+v", row)
	}
	if end.Usage.Group || end.Usage.User+end.Usage.System == 0 || end.Usage.MaxRSS == 0 {
		t.Errorf("used %+v", end.Usage)
	}
}

// Case G01: what is there in part is not used in part. The subtree has no
// controller for memory; the rest of the group is gone again.
func TestNeverHalfApplied(t *testing.T) {
	needs(t, kerneltest.Root, kerneltest.Cgroup1)
	w := world{name: "pids alone", uid: 1000, handed: []string{"pids", "unified"}, named: true}.place(t)
	end := w.run(t, limitedRun{Command: "touch ran", Limits: policy.Limits{Memory: 48 << 20, Processes: 20}})
	if end.Stage != "limits" || !strings.Contains(end.Error, "memory 48MiB: no control group: ") || end.Hint == "" || exists(t, filepath.Join(w.workspace, "ran")) {
		t.Errorf("stage %q, %s", end.Stage, end.Error)
	}
	if left := w.left(t); len(left) > 0 {
		t.Errorf("left: %s", left)
	}
	if end := w.ran(t, limitedRun{Command: "true", Limits: processes20}); end.Rows[policy.PromiseLimits].Status != fact.Enforced {
		t.Errorf("the report says %+v", end.Rows[policy.PromiseLimits])
	}
}

// A limit that the helper itself does not fit into is no answer of the command.
func TestLimitTooTight(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *placed) {
		for range 5 {
			end := w.run(t, limitedRun{Command: "touch ran", Limits: policy.Limits{Memory: policy.MinMemory}})
			switch {
			case end.Stage == "limits" && strings.Contains(end.Error, "memory limit of 1MiB is too small"):
			case end.Error == "" && len(end.Limits) == 1 && end.Exit.Signal == "SIGKILL": // it was the command already
			case end.Error == "" && len(end.Limits) == 0 && !end.Exit.Failed(): // it fitted
			default:
				t.Errorf("stage %q, %s, %+v, %+v", end.Stage, end.Error, end.Exit, end.Limits)
			}
		}
		for range 20 { // the least process limit has room for the helper's threads
			if end := w.ran(t, limitedRun{Command: "true", Limits: policy.Limits{Processes: policy.MinProcesses}}); end.Exit.Failed() || len(end.Limits) > 0 {
				t.Errorf("%+v, %+v", end.Exit, end.Limits)
			}
		}
	})
}

// TestRlimits: both limits, soft and hard alike.
func TestRlimits(t *testing.T) {
	needs(t)
	p := in(policy.WorkspaceWrite, realTempDir(t))
	p.Limits = policy.Limits{OpenFiles: 40, FileSize: 1 << 20}
	r := shell(t, p, `ulimit -Sn; ulimit -Hn; ulimit -Sf; ulimit -Hf; for i in {10..60}; do eval "exec $i</dev/null" || break; done; echo $i; head -c 2M /dev/zero >big; echo $?; stat -c %s big`)
	if got := strings.Fields(stdout(r)); strings.Join(got, " ") != "40 40 1024 1024 40 153 1048576" {
		t.Errorf("got %q\n%s", got, stderr(r))
	}
	row := r.Report.Rows[len(r.Report.Rows)-1]
	if row.Promise != policy.PromiseLimits || row.Status != fact.Enforced || !strings.Contains(row.Detail, "rlimits: 40 open files, files of 1MiB") {
		t.Errorf("the report says %+v", row)
	}
	if r.Denied {
		t.Errorf("denied: %+v", r.Denials)
	}
}

// 500 runs leave no group behind.
func TestNoGroupIsLeft(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *placed) {
		times := kerneltest.Fewer(50)
		if w.named || w.uid == 0 {
			times = kerneltest.Fewer(500)
		}
		end := w.ran(t, limitedRun{Command: "true", Limits: policy.Limits{Memory: 64 << 20, CPUs: 2}, Times: times})
		if end.Exit.Failed() || len(end.Limits) > 0 {
			t.Errorf("%+v, %+v", end.Exit, end.Limits)
		}
		if left := w.left(t); len(left) > 0 {
			t.Errorf("%d groups are left, such as %s", len(left), left[0])
		}
	})
}

// TestCallerKilled: what a killed caller leaves is killed and removed at the next
// start. The group of a living one is left alone.
func TestCallerKilled(t *testing.T) {
	inWorlds(t, func(t *testing.T, w *placed) {
		cmd := w.command(t, limitedRun{Command: "setsid bash -c 'echo $$ >>pids; sleep 600' & until [ -e pids ]; do sleep 0.01; done; touch up; sleep 600", Limits: memory48})
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.pids = append(w.pids, uint64(cmd.Process.Pid))
		waitFor(t, filepath.Join(w.workspace, "up"))
		groups := len(w.left(t))
		if groups == 0 {
			t.Fatal("there is no group while it runs")
		}
		if end := w.ran(t, limitedRun{Command: "true"}); end.Exit.Failed() || len(w.left(t)) != groups {
			t.Errorf("beside a living one: %+v and %s", end.Exit, w.left(t))
		}
		if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		pid, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(w.workspace, "pids"))))
		if err != nil {
			t.Fatal(err)
		}
		if w.handed != nil && (len(w.left(t)) != groups || !alive(pid)) { // among others, anybody sweeps
			t.Errorf("the caller's death left %s, and alive is %v", w.left(t), alive(pid))
		}
		for end := time.Now().Add(kerneltest.Slow(5 * time.Second)); len(w.left(t)) > 0 && time.Now().Before(end); {
			w.ran(t, limitedRun{Command: "true"}) // the caller's own child may still be dying
		}
		w.nothingLives(t)
		if left := w.left(t); len(left) > 0 {
			t.Errorf("not swept: %s", left)
		}
	})
}

func waitFor(t *testing.T, name string) {
	t.Helper()
	for end := time.Now().Add(patience); !exists(t, name); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", name)
		}
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}
