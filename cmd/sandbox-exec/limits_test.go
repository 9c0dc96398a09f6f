package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// badLimits are values of the limits' flags that cannot be taken.
func badLimits() []badInput {
	const sizes = "expected a size such as 512MiB"
	return []badInput{
		{"memory zero", []string{"--memory", "0"}, `"0"`, sizes},
		{"memory negative", []string{"--memory", "-1M"}, `"-1M"`, sizes},
		{"memory garbage", []string{"--memory", "lots"}, `"lots"`, sizes},
		{"memory too small", []string{"--memory", "4K"}, `"4K"`, "at least 1MiB"},
		{"memory empty", []string{"--memory", ""}, `""`, sizes},
		{"pids zero", []string{"--pids", "0"}, `"0"`, "whole number from 16"},
		{"pids negative", []string{"--pids", "-20"}, `"-20"`, "whole number from 16"},
		{"pids garbage", []string{"--pids", "20x"}, `"20x"`, "whole number from 16"},
		{"cpus zero", []string{"--cpus", "0"}, `"0"`, "from 0.01"},
		{"cpus garbage", []string{"--cpus", "two"}, `"two"`, "from 0.01"},
		{"open files zero", []string{"--open-files", "0"}, `"0"`, "whole number from 1"},
		{"file size zero", []string{"--file-size", "0B"}, `"0B"`, sizes},
		{"file size garbage", []string{"--file-size", "1MB"}, `"1MB"`, sizes},
		{"cgroup parent elsewhere", []string{"--cgroup-parent", "/tmp"}, `"/tmp"`, "control group file system"},
		{"cgroup parent missing", []string{"--cgroup-parent", "/nope"}, `"/nope"`, "no such file or directory"},
		{"cgroup parent relative", []string{"--cgroup-parent", "nope"}, `"nope"`, "absolute"},
		{"cgroup parent empty", []string{"--cgroup-parent", ""}, `""`, "not empty"},
		{"cgroup parent in proc", []string{"--cgroup-parent", "/proc"}, `"/proc"`, "control group file system"},
	}
}

// TestLimitsOnTheCommandLine: the facts on stderr and in the document. They come
// also where the command ended well, and are no denials.
func TestLimitsOnTheCommandLine(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Cgroups)
	const hog = "head -c 200M /dev/zero | tail -c 150M >/dev/null"
	fork := fmt.Sprintf("for i in {1..50}; do sleep %g & done; wait; exit 5", kerneltest.Slow(1200*time.Millisecond).Seconds())
	memory := "[sandbox: memory limit of 48MiB reached]"
	for _, tt := range []struct {
		args   []string
		status []int
		line   string // "" is none
		kind   string
	}{
		{[]string{"--memory", "48MiB", "-c", hog + "; exit 0"}, []int{0}, memory, "memory"},
		{[]string{"--memory", "48M", "-c", hog + "; exit 4"}, []int{4}, memory, "memory"},
		{[]string{"--memory", "48MiB", "-c", "kill -9 0"}, []int{137}, "", ""},
		{[]string{"--memory", "48MiB", "--timeout", kerneltest.Slow(300 * time.Millisecond).String(), "-c", "sleep 60; true"}, []int{124}, "", ""},
		{[]string{"--pids", "20", "-c", fork}, []int{5, 254}, "[sandbox: process limit of 20 reached]", "processes"},
		{[]string{"--mode", "danger-full-access", "--memory", "48MiB", "-c", hog}, []int{137}, memory, "memory"},
	} {
		file := filepath.Join(t.TempDir(), "document")
		o := sandboxed(t, t.TempDir(), append([]string{"--json", file}, tt.args...)...)
		if !slices.Contains(tt.status, o.status) || strings.Contains(o.stderr, "access denied") {
			t.Errorf("%q: %+v", tt.args, o)
		}
		if got := strings.Count(o.stderr, "[sandbox: "); got > 1 || (got == 1) != (tt.line != "") || !strings.Contains(o.stderr, tt.line) {
			t.Errorf("%q: wanted %q in %q", tt.args, tt.line, o.stderr)
		}
		value, err := validDocument(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		kind, denied := "", value.(map[string]any)["denied"].(bool)
		if limits := value.(map[string]any)["limits"].([]any); len(limits) == 1 {
			kind = limits[0].(map[string]any)["kind"].(string)
		}
		if kind != tt.kind || denied {
			t.Errorf("%q: limit %q, denied %v, wanted %q", tt.args, kind, denied, tt.kind)
		}
	}
}

// TestLimitsExplained: explain, probe and --verbose name the limits and the rung.
func TestLimitsExplained(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Cgroups)
	version, err := kerneltest.GroupVersion()
	if err != nil {
		t.Fatal(err)
	}
	held := kerneltest.GroupTitle(version) + ": memory 1GiB, 4096 processes, 0.5 processors; rlimits: 64 open files"
	args := []string{"--memory", "1024MiB", "--cpus", "0.5", "--open-files", "64", "-c", "true"}
	o := finish(t, command(t, t.TempDir(), "sandbox-exec", append([]string{"explain"}, args...)...))
	for _, want := range []string{
		"  limits       memory 1GiB, 0.5 processors, 64 open files, 4096 processes by default\n",
		"  limits         enforced (" + held + ")\n", "  limits         1 calls: ",
	} {
		if o.status != 0 || !strings.Contains(o.stdout, want) {
			t.Errorf("explain: wanted %q in %+v", want, o)
		}
	}
	o = sandboxed(t, t.TempDir(), append([]string{"--verbose"}, args...)...)
	if o.status != 0 || !strings.Contains(o.stderr, held) || !strings.Contains(o.stderr, "sandbox-exec: used ") {
		t.Errorf("--verbose: %+v", o)
	}
	o = finish(t, command(t, t.TempDir(), "sandbox-exec", "probe"))
	if !strings.Contains(o.stdout, kerneltest.GroupTitle(version)+": 4096 processes") {
		t.Errorf("probe: %+v", o)
	}
}

// TestUserScopeTold: explain and probe name the rung that a session has.
func TestUserScopeTold(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.UserScope)
	for want, args := range map[string][]string{
		"  limits         enforced (systemd user scope: memory 16MiB, 4096 processes)\n": {"explain", "--memory", "16MiB", "-c", "true"},
		"\na limit that is asked is held: systemd user scope: 4096 processes\n":          {"probe"},
	} {
		cmd := command(t, t.TempDir(), "sandbox-exec", args...)
		for _, name := range []string{"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} {
			cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
		}
		if o := finish(t, cmd); o.status != 0 || !strings.Contains(o.stdout, want) {
			t.Errorf("%s: wanted %q in %+v", args[0], want, o)
		}
	}
}

// TestLimitsWithoutClone3: containers' filters often refuse the call that starts a
// process in a group. It is moved then, and the limits hold all the same.
func TestLimitsWithoutClone3(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Cgroups)
	o := finish(t, command(t, t.TempDir(), "outer-filter", "clone3=ENOSYS", "sandbox-exec", "run", "--verbose", "--memory", "48MiB", "-c", "head -c 200M /dev/zero | tail -c 150M >/dev/null; exit 0"))
	if o.status != 0 || !strings.Contains(o.stderr, "[sandbox: memory limit of 48MiB reached]") || !strings.Contains(o.stderr, "tree           enforced (control group, ") {
		t.Errorf("%+v", o)
	}
}

// TestNestedLimits: inside ourselves no groups can be made. What is asked there is
// refused, and what is not is reported; the outer limits hold.
func TestNestedLimits(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Cgroups)
	o := sandboxed(t, t.TempDir(), "--pids", "64", "-c", "sandbox-exec run --memory 48MiB -c 'echo ran'; echo $?; sandbox-exec run --verbose -c 'echo inner'")
	const row = "  limits         not enforced (memory 48MiB: no control group: "
	if o := sandboxed(t, t.TempDir(), "-c", "sandbox-exec explain --memory 48MiB -c 'echo ran'"); o.status != 0 || !strings.Contains(o.stdout, row) {
		t.Errorf("explain: %+v", o)
	}
	if o.stdout != "125\ninner\n" || !strings.Contains(o.stderr, "limits: memory 48MiB: no control group: ") || !strings.Contains(o.stderr, "limits         not asked (no process limit: ") {
		t.Errorf("%+v", o)
	}
}

// TestLimitThatCannotBeHeld: nothing runs, and the message says why.
func TestLimitThatCannotBeHeld(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Root, kerneltest.Program("setpriv"))
	dir := realTempDir(t)
	cmd := command(t, dir, "sandbox-exec", "run", "--state-dir", "state", "--json", "-", "--memory", "48MiB", "-c", "touch ran")
	for at := dir; at != "/tmp" && at != "/"; at = filepath.Dir(at) {
		if err := os.Chmod(at, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	mkdir(t, filepath.Join(dir, "state"))
	for _, name := range []string{"", "state"} {
		if err := os.Chown(filepath.Join(dir, name), 1000, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Args[0] = "/proc/self/exe", "sandbox-exec" // root's own path is closed to others
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	o := finish(t, cmd)
	if o.status != statusSandbox || !strings.Contains(o.stderr, "limits: memory 48MiB: no control group: ") || !strings.Contains(o.stderr, "\nhint: ") || exists(t, filepath.Join(dir, "ran")) {
		t.Errorf("%+v", o)
	}
	if _, err := validDocument([]byte(o.stdout)); err != nil || !strings.Contains(o.stdout, `"stage":"limits"`) {
		t.Errorf("%v: %s", err, o.stdout)
	}
}

// TestKilledCallerIsSwept: kill -9 of sandbox-exec leaves a group, and the next
// start kills and removes it. (That of another test does as well; that something
// was left is shown where nobody else is, in integration.)
func TestKilledCallerIsSwept(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Cgroups, kerneltest.Program("setsid"))
	dir := realTempDir(t)
	t.Cleanup(func() { stopBeats(t, dir) })
	cmd := command(t, dir, "sandbox-exec", "run", "--mode", "workspace-write", "-c",
		`setsid sh -c 'while [ ! -e stop ]; do echo >alive; sleep 0.02; done' & wait`)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); !exists(t, filepath.Join(dir, "alive")); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not start")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if o := sandboxed(t, dir, "-c", "true"); o.status != 0 {
		t.Errorf("%+v", o)
	}
	if beats(t, dir, silence) {
		t.Error("what a killed caller left lives on")
	}
}
