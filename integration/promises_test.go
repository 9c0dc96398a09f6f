package integration

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// kernelCan is what the promises depend on.
type kernelCan struct {
	abi    int  // of Landlock
	broker bool // a filter can ask somebody
	limits bool // this process can make control groups
}

// status is what a promise must come to, in the words of the README's table.
func (k kernelCan) status(p policy.Promise, mode policy.Mode) fact.Status {
	from := func(abi int, below fact.Status) fact.Status {
		if k.abi >= abi {
			return fact.Enforced
		}
		return below
	}
	switch p {
	case policy.PromiseTruncate:
		return from(3, fact.Closed)
	case policy.PromiseIoctl, policy.PromiseIsolation:
		return from(5, fact.NotEnforced)
	case policy.PromiseMetadata:
		if k.broker {
			return fact.Enforced
		}
		return fact.Closed
	case policy.PromiseSignals, policy.PromiseUnixSockets:
		return fact.Closed
	case policy.PromiseLimits:
		if !k.limits {
			return fact.NotAsked
		}
	}
	return fact.Enforced
}

// runs says whether a mode has anything to hold metadata with.
func (k kernelCan) runs(p policy.Policy) bool {
	return k.broker || p.Mode == policy.ReadOnly || len(p.Closed) > 0
}

// promiseActs are one act for each promise that a few calls can try. Each prints
// "ok" where it succeeds, and only then.
var promiseActs = map[policy.Promise]string{
	policy.PromiseFiles:         `echo x >>"$OUT/file" && echo ok`,
	policy.PromiseTruncate:      `"$SELF" as-victim do truncate "$OUT/file"`,
	policy.PromiseMetadata:      `"$SELF" as-victim do chmod "$OUT/file"`,
	policy.PromiseSetID:         `"$SELF" as-victim do chmod-setuid "$WORK/own"`,
	policy.PromiseProcesses:     `cat "/proc/$PEER/environ" >"/dev/null" && echo ok`,
	policy.PromiseSignals:       `kill -CONT "$PEER" && echo ok`,
	policy.PromiseUnixSockets:   `"$SELF" as-victim do send unix "$UNIX"`,
	policy.PromiseUnixDatagrams: `"$SELF" as-victim do send unixgram "$UNIXGRAM"`,
	policy.PromiseNetwork:       `"$SELF" as-victim do send tcp "$TCP"`,
	policy.PromiseKernel:        `"$SELF" as-victim do io_uring`,
}

// TestPromises compares the report with what this kernel, and each older one that
// can be played, can hold, promise by promise, and tries the promises. The older
// ones are this kernel, asked for a ruleset of their ABI.
func TestPromises(t *testing.T) {
	needs(t, kerneltest.Capped)
	real, err := kerneltest.LandlockABI()
	if err != nil {
		t.Fatal(err)
	}
	have, _ := kerneltest.Present(kerneltest.Broker)
	broker := len(have) > 0
	for abi := 1; abi <= min(real, landlock.NewestABI); abi++ {
		wrap := func(cmd *exec.Cmd) *exec.Cmd { return kerneltest.UnderLandlock(cmd, abi) }
		if abi == min(real, landlock.NewestABI) {
			wrap = func(cmd *exec.Cmd) *exec.Cmd { return cmd }
		}
		t.Run(fmt.Sprintf("ABI %d", abi), func(t *testing.T) {
			kernelCan{abi, broker, canLimit()}.test(t, wrap)
		})
	}
	// Linux 5.13 to 5.18 have no listener that signals leave alone.
	t.Run("ABI 1, no broker", func(t *testing.T) {
		const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
		old := on(unix.SYS_SECCOMP, unix.EINVAL, kerneltest.Arg{Index: 1, Value: flags})
		kernelCan{1, false, canLimit()}.test(t, func(cmd *exec.Cmd) *exec.Cmd {
			return kerneltest.UnderLandlock(kerneltest.UnderFilter(cmd, old), 1)
		})
	})
}

func (k kernelCan) test(t *testing.T, wrap func(*exec.Cmd) *exec.Cmd) {
	metadata := []policy.Promise{policy.PromiseMetadata}
	for _, p := range []policy.Policy{{Mode: policy.ReadOnly}, {Mode: policy.WorkspaceWrite}, {Mode: policy.WorkspaceWrite, Closed: metadata}} {
		closed := len(p.Closed) > 0
		if closed && k.broker {
			continue // the same as with it, but for one row
		}
		s := newPromiseScene(t)
		p.Workspace = s.work
		end := s.run(t, p, wrap)
		if runs := end.Error == ""; runs != k.runs(p) {
			t.Errorf("%s, closed %v: it ran: %t, wanted %t: %s", p.Mode, p.Closed, runs, k.runs(p), end.Error)
			continue
		}
		if end.Error != "" {
			if end.Stage != string(policy.PromiseMetadata) || !end.Unavailable || end.Output != "" {
				t.Errorf("%s: stage %q, %s", p.Mode, end.Stage, end.Error)
			}
			continue
		}
		if got, want := end.Report.Landlock, fmt.Sprintf("ABI %d,", k.abi); !strings.HasPrefix(got, want) {
			t.Errorf("%s: the report has %q, wanted %s", p.Mode, got, want)
		}
		for _, row := range end.Report.Rows {
			if want := k.status(row.Promise, p.Mode); row.Status != want {
				t.Errorf("%s: %s is %q (%s), wanted %q", p.Mode, row.Promise, row.Status, row.Detail, want)
			}
			succeeded := strings.Contains(end.Output, string(row.Promise)+" ok\n")
			if _, tried := promiseActs[row.Promise]; tried && succeeded {
				t.Errorf("%s: %s is %q, and the act succeeded\n%s", p.Mode, row.Promise, row.Status, end.Output)
			}
		}
		if !strings.HasSuffix(end.Output, "all tried\n") {
			t.Errorf("%s: not all was tried:\n%s", p.Mode, end.Output)
		}
	}
}

// promiseScene is what the acts are tried on.
type promiseScene struct {
	work, outside string
	environ       []string
}

func newPromiseScene(t *testing.T) promiseScene {
	t.Helper()
	s := promiseScene{work: realTempDir(t), outside: realTempDir(t)}
	write(t, filepath.Join(s.outside, "file"), "outside")
	write(t, filepath.Join(s.work, "own"), "")
	peer := outside(t, "sleep", "600")
	if err := peer.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = peer.Process.Kill()
		_ = peer.Wait()
	})
	s.environ = []string{"OUT=" + s.outside, "WORK=" + s.work, "SELF=" + selfPath(t), fmt.Sprint("PEER=", peer.Process.Pid)}
	for network, set := range map[string]func(*testing.T, string) ([]string, func() bool){
		"unix": listens("unix"), "unixgram": receives("unixgram"), "tcp": listens("tcp"),
	} {
		args, _ := set(t, s.work)
		s.environ = append(s.environ, strings.ToUpper(network)+"="+args[2])
	}
	return s
}

// command tries every act and prints "PROMISE ok" or "PROMISE" and what it said.
func (s promiseScene) command() string {
	var text strings.Builder
	for _, pair := range s.environ {
		name, value, _ := strings.Cut(pair, "=")
		fmt.Fprintf(&text, "%s='%s'; ", name, value)
	}
	for _, p := range policy.Promises() {
		if act, tried := promiseActs[p]; tried {
			fmt.Fprintf(&text, "echo %s \"$( { %s; } 2>&1)\"; ", p, act)
		}
	}
	return text.String() + "echo all tried"
}

// run tries the acts without the sandbox, where all must succeed, and then with
// it.
func (s promiseScene) run(t *testing.T, p policy.Policy, wrap func(*exec.Cmd) *exec.Cmd) promisedEnd {
	t.Helper()
	plain := mustBash(t, s.work, s.command())
	for promise := range promiseActs {
		if !strings.Contains(plain, string(promise)+" ok\n") {
			t.Fatalf("without the sandbox %s gives\n%s", promise, plain)
		}
	}
	body, err := json.Marshal(promisedRun{State: stateDir(t), Policy: p, Command: s.command()})
	if err != nil {
		t.Fatal(err)
	}
	out, err := wrap(self(t, "as-promised", string(body))).Output()
	if err != nil {
		t.Fatalf("the runner: %v\n%s", err, out)
	}
	var end promisedEnd
	if err := json.Unmarshal(out, &end); err != nil {
		t.Fatalf("the runner printed %q: %v", out, err)
	}
	return end
}

// canLimit says whether this process can make control groups.
func canLimit() bool {
	have, _ := kerneltest.Present(kerneltest.Cgroups)
	return len(have) > 0
}

// TestNoLandlock: where the kernel has none, nothing runs confined, and the
// message says what is missing. Before Linux 5.11 nothing runs at all.
func TestNoLandlock(t *testing.T) {
	kerneltest.Require(t, kerneltest.NoLandlock, kerneltest.Program("bash"))
	have, _ := kerneltest.Present(kerneltest.CloseRange)
	closes := len(have) > 0
	for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite, policy.DangerFullAccess} {
		work := realTempDir(t)
		marker := filepath.Join(work, "marker")
		body, err := json.Marshal(promisedRun{State: stateDir(t), Policy: policy.Policy{Mode: mode, Workspace: work}, Command: "touch " + marker})
		if err != nil {
			t.Fatal(err)
		}
		out, err := self(t, "as-promised", string(body)).Output()
		var end promisedEnd
		if err != nil || json.Unmarshal(out, &end) != nil {
			t.Fatalf("the runner: %v\n%s", err, out)
		}
		if !mode.Confines() {
			if ran := end.Error == ""; ran != closes || ran != exists(t, marker) || !ran && !strings.Contains(end.Error, "Linux 5.11") {
				t.Errorf("%s: %s", mode, end.Error)
			}
			continue
		}
		if end.Stage != "landlock" || !end.Unavailable || !strings.Contains(end.Error, "landlock is missing in the kernel") || exists(t, marker) {
			t.Errorf("%s: stage %q, %s", mode, end.Stage, end.Error)
		}
	}
}
