package integration

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/keeper"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// inSession is this process's own user, in a session that is not delegated.
func inSession(t *testing.T) *placed {
	t.Helper()
	needs(t, kerneltest.UserScope)
	p := &placed{world: world{name: "session", uid: os.Getuid()}, dir: realTempDir(t)}
	p.state, p.workspace = filepath.Join(p.dir, "state"), filepath.Join(p.dir, "work")
	for _, dir := range []string{p.state, p.workspace} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		left := p.scopes(t)
		for end := time.Now().Add(patience); len(left) > 0 && time.Now().Before(end); left = p.scopes(t) {
			time.Sleep(20 * time.Millisecond) // systemd's part of it
		}
		if len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
	return p
}

// scopes lists what there is of the programs of this world, scopes and groups.
func (p *placed) scopes(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil // what is going away
		}
		rest, ours := strings.CutPrefix(strings.TrimSuffix(entry.Name(), ".scope"), groupPrefix)
		if name, valid := keeper.ParseName(rest); ours && valid && slices.Contains(p.pids, name.PID) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestUserScope: a user whose session is not delegated has limits all the same,
// held in a scope that the user's systemd makes.
func TestUserScope(t *testing.T) {
	p := inSession(t)
	const memory = 16 << 20
	for _, tree := range []bool{true, false} { // the command line, and a library
		end := p.ran(t, limitedRun{
			Command: "cat /proc/self/cgroup; head -c 24M /dev/zero | tail -c 24M | wc -c; echo on", OwnTree: tree,
			Limits: policy.Limits{Memory: memory, Processes: 64, CPUs: 4},
		})
		if !slices.Equal(end.Limits, []fact.Limit{{Kind: fact.LimitMemory, Value: memory}}) || !strings.HasSuffix(end.Stdout, "on\n") {
			t.Errorf("reached %+v, %q, %s", end.Limits, end.Stdout, end.Stderr)
		}
		if !strings.Contains(end.Stdout, ".scope/"+groupPrefix) {
			t.Errorf("it ran in %s", end.Stdout)
		}
		if row := end.Rows[policy.PromiseLimits]; row.Status != fact.Enforced || !strings.Contains(row.Detail, "systemd user scope: memory 16MiB, 64 processes, 4 processors") {
			t.Errorf("the report says %+v", row)
		}
		if row := end.Rows[policy.PromiseTree]; row.Status != fact.Enforced || !strings.Contains(row.Detail, "control group, systemd user scope, ") {
			t.Errorf("the report says %+v", row)
		}
		if u := end.Usage; !u.Group || u.PeakProcesses == 0 || u.User+u.System == 0 {
			t.Errorf("used %+v", u)
		}
		end = p.ran(t, limitedRun{Command: fork, Limits: processes20, OwnTree: tree})
		if !slices.Equal(end.Limits, []fact.Limit{{Kind: fact.LimitProcesses, Value: 20}}) || end.Denied {
			t.Errorf("reached %+v, denied %v", end.Limits, end.Denied)
		}
		end = p.ran(t, limitedRun{Command: "for i in 1 2 3; do setsid sleep 30 & done; sleep 0.5", Limits: processes20, OwnTree: tree})
		if end.Leftover != 3 || end.Exit.Failed() {
			t.Errorf("%d left behind, %+v", end.Leftover, end.Exit)
		}
	}
}

// TestUserScopeServesAll: one scope for the runs of a keeper, and its groups are
// gone when their runs are.
func TestUserScopeServesAll(t *testing.T) {
	p := inSession(t)
	end := p.ran(t, limitedRun{Command: "cd /sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)/.. && ls -d leaf " + groupPrefix + "*", Limits: processes20, Times: 3})
	if lines := strings.Fields(end.Stdout); len(lines) != 2 || end.Exit.Failed() {
		t.Errorf("in the scope of the third run: %q %s", lines, end.Stderr)
	}
}

// TestUserScopeIsForLimits: what nobody asked for is not worth the way to systemd.
func TestUserScopeIsForLimits(t *testing.T) {
	p := inSession(t)
	end := p.ran(t, limitedRun{Command: "cat /proc/self/cgroup"})
	if row := end.Rows[policy.PromiseLimits]; row.Status != fact.NotAsked || strings.Contains(end.Stdout, groupPrefix) {
		t.Errorf("%q, and the report says %+v", end.Stdout, row)
	}
}

// TestUserScopeRefused: without the way to systemd nothing runs.
func TestUserScopeRefused(t *testing.T) {
	p := inSession(t)
	t.Setenv("XDG_RUNTIME_DIR", p.dir)
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	end := p.run(t, limitedRun{Command: "touch ran", Limits: memory48})
	if end.Stage != "limits" || !strings.Contains(end.Error, "; and no systemd user scope: connect to the user's bus: unix:path="+p.dir) || exists(t, filepath.Join(p.workspace, "ran")) {
		t.Errorf("stage %q, %s", end.Stage, end.Error)
	}
}

// TestUserScopeOfKilledCaller: whatever was in the scope dies with the caller,
// and the scope goes.
func TestUserScopeOfKilledCaller(t *testing.T) {
	p := inSession(t)
	cmd := p.command(t, limitedRun{
		Command: `setsid bash -c 'while :; do echo >beat; sleep 0.05; done' & wait`, Limits: processes20,
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pids = append(p.pids, uint64(cmd.Process.Pid))
	beat := filepath.Join(p.workspace, "beat")
	for end := time.Now().Add(patience); !exists(t, beat); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not start")
		}
	}
	if len(p.scopes(t)) == 0 {
		t.Error("it is in no scope")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if err := os.Remove(beat); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if time.Sleep(time.Second); !exists(t, beat) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("what a killed caller left lives on")
		}
	}
}

// TestUserScopeLost: somebody kills the process that keeps the scope. The command
// ends as it would, and the result says what is not known for sure.
func TestUserScopeLost(t *testing.T) {
	p := inSession(t)
	cmd := p.command(t, limitedRun{Command: "touch begun; while [ ! -e go ]; do sleep 0.05; done; echo end", Limits: processes20})
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.pids = append(p.pids, uint64(cmd.Process.Pid))
	for end := time.Now().Add(patience); !exists(t, filepath.Join(p.workspace, "begun")); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not start")
		}
	}
	killed := 0
	for _, dir := range p.scopes(t) {
		for _, pid := range strings.Fields(readQuiet(filepath.Join(dir, "leaf", "cgroup.procs"))) {
			n, err := strconv.Atoi(pid)
			if err = errors.Join(err, syscall.Kill(n, syscall.SIGKILL)); err != nil {
				t.Fatal(err)
			}
			killed++
		}
	}
	write(t, filepath.Join(p.workspace, "go"), "")
	var end limitedEnd
	if err := errors.Join(cmd.Wait(), json.Unmarshal(out.Bytes(), &end)); err != nil {
		t.Fatal(err)
	}
	if killed != 1 || end.Stdout != "end\n" || len(end.Warnings) != 1 || !strings.Contains(end.Warnings[0], "is not known for sure") {
		t.Errorf("%d killed, %+v", killed, end)
	}
}
