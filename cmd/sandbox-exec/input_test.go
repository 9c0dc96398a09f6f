package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// badInput is a command line that must be refused before anything runs: one
// line of error that holds the value and what is accepted.
type badInput struct {
	name        string
	args        []string
	value, want string
}

func TestBadInput(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	dir := realTempDir(t)
	write(t, filepath.Join(dir, "file"), "")
	const touch = "touch marker"
	good := []string{"--mode", "workspace-write", "-c", touch}
	if o := sandboxed(t, dir, good...); o.status != 0 || !exists(t, filepath.Join(dir, "marker")) {
		t.Fatalf("a good command line: %+v", o)
	}
	remove(t, filepath.Join(dir, "marker"))

	for _, tt := range slices.Concat(badValues(dir), badLimits(), badCommands()) {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"--mode", "workspace-write"}, tt.args...)
			if !hasCommand(tt.args) {
				args = append(args, "-c", touch)
			}
			refused(t, sandboxed(t, dir, args...), tt)
			if exists(t, filepath.Join(dir, "marker")) {
				t.Error("the command ran")
			}
		})
	}
}

// hasCommand tells the rows that bring a command, or the lack of one, along.
func hasCommand(args []string) bool {
	for _, a := range args {
		if a == "-c" || a == "--" || a == "--command" {
			return true
		}
	}
	return len(args) > 0 && args[0] == "no command"
}

func refused(t *testing.T, o outcome, want badInput) {
	t.Helper()
	if o.status != statusSandbox || o.stdout != "" {
		t.Errorf("exit status %d and stdout %q, want 125 and none", o.status, o.stdout)
	}
	lines := strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n")
	message, isError := strings.CutPrefix(lines[0], "sandbox-exec: error: ")
	if !isError || len(lines) > 2 || len(lines) == 2 && !strings.HasPrefix(lines[1], "hint: ") {
		t.Fatalf("want one line of error and perhaps a hint, got %q", o.stderr)
	}
	if !strings.Contains(message, want.value) || !strings.Contains(message, want.want) {
		t.Errorf("got %q, want it to name %q and %q", message, want.value, want.want)
	}
}

func badValues(dir string) []badInput {
	const durations = "expected a positive duration such as"
	return []badInput{
		{"mode", []string{"--mode", "foo"}, `"foo"`, "read-only, workspace-write, danger-full-access"},
		{"mode empty", []string{"--mode", ""}, `""`, "read-only, workspace-write, danger-full-access"},
		{"workspace missing", []string{"--workspace", "/nope"}, `"/nope"`, "no such file or directory"},
		{"workspace root", []string{"--workspace", "/"}, `"/"`, "cannot be granted"},
		{"workspace empty", []string{"--workspace", ""}, `""`, "not empty"},
		{"json empty", []string{"--json", ""}, `""`, "not empty"},
		{"keep-env empty", []string{"--keep-env", ""}, `""`, "not empty"},
		{"unreadable with a tilde", []string{"--unreadable", "~/.ssh"}, `"~/.ssh"`, "home directory"},
		{"workspace file", []string{"--workspace", "file"}, `"file"`, "directory"},
		{"workspace in proc", []string{"--workspace", "/proc/self"}, `"/proc/self"`, "cannot be granted"},
		{"workspace in dev", []string{"--workspace", "/dev"}, `"/dev"`, "devices are granted one by one"},
		{"workdir missing", []string{"--workdir", "nope"}, `"nope"`, "expected a directory"},
		{"workdir file", []string{"--workdir", "file"}, `"file"`, "expected a directory"},
		{"writable missing", []string{"--writable", "/nope"}, `"/nope"`, "no such file or directory"},
		{"writable root", []string{"--writable", "/"}, `"/"`, "cannot be granted"},
		{"writable in sys", []string{"--writable", "/sys/fs"}, `"/sys/fs"`, "cannot be granted"},
		{"writable in read-only", []string{"--mode", "read-only", "--writable", "file"}, `"file"`, "workspace-write"},
		{"unreadable root", []string{"--unreadable", "/"}, `"/"`, "without / no program can start"},
		{"unreadable in a root", []string{"--unreadable", "file"}, `"file"`, "writable root"},
		{"unreadable in proc", []string{"--unreadable", "/proc/self/environ"}, `/proc/`, "come and go"},
		{"unreadable and full access", []string{"--mode", "danger-full-access", "--unreadable", "/etc"}, `"/etc"`, "no effect"},
		{"temp", []string{"--temp", "foo"}, `"foo"`, "private, host"},
		{"terminals", []string{"--terminals", "foo"}, `"foo"`, "none, host"},
		{"require", []string{"--require", "foo"}, `"foo"`, "full, enforced"},
		{"device missing", []string{"--device", "/dev/nope"}, `"/dev/nope"`, "no such file or directory"},
		{"device file", []string{"--device", "file"}, `"file"`, "expected a device file below /dev"},
		{"timeout", []string{"--timeout", "x"}, `"x"`, durations},
		{"timeout zero", []string{"--timeout", "0"}, `"0"`, durations},
		{"timeout negative", []string{"--timeout", "-1s"}, `"-1s"`, durations},
		{"timeout without unit", []string{"--timeout", "30"}, `"30"`, durations},
		{"timeout empty", []string{"--timeout", ""}, `""`, durations},
		{"grace", []string{"--grace", "x"}, `"x"`, durations},
		{"env without value", []string{"--env", "FOO"}, `"FOO"`, "NAME=VALUE"},
		{"env without name", []string{"--env", "=x"}, `"=x"`, "NAME=VALUE"},
		{"state directory file", []string{"--state-dir", "file"}, dir + "/file", "expected a directory"},
		{"state directory shared", []string{"--state-dir", "/tmp"}, "/tmp", ""},
		{"state directory in a root", []string{"--state-dir", "state"}, dir, "state directory"},
		{"json directory", []string{"--json", "."}, ".", ""},
		{"json nowhere", []string{"--json", "nope/f"}, "nope/f", "no such file or directory"},
		{"json device", []string{"--json", "/dev/null"}, "/dev/null", "expected a regular file"},
		{"json closed descriptor", []string{"--json", "fd:99"}, `"fd:99"`, "fd:3"},
		{"json no descriptor", []string{"--json", "fd:x"}, `"fd:x"`, "fd:3"},
		{"json negative descriptor", []string{"--json", "fd:-1"}, `"fd:-1"`, "fd:3"},
		{"unknown flag", []string{"--frobnicate"}, "--frobnicate", "unknown flag"},
		{"unknown short flag", []string{"-z"}, "-z", "unknown"},
		{"flag without value", []string{"-c", "touch marker", "--mode"}, "--mode", "argument"},
		{"flag of a later version", []string{"--leftover", "keep"}, "--leftover", "unknown flag"},
	}
}

func badCommands() []badInput {
	return []badInput{
		{"no command", []string{"no command"}, `"no command"`, "expected -c COMMAND"},
		{"empty command", []string{"-c", ""}, `""`, "expected a non-empty string"},
		{"blank command", []string{"-c", " \t\n"}, `" \t\n"`, "expected a non-empty string"},
		{"empty program", []string{"--", ""}, `""`, "expected a non-empty program name"},
		{"stray argument", []string{"-c", "touch marker", "stray"}, `"stray"`, "expected -c COMMAND"},
		{"argument before --", []string{"stray", "--", "touch", "marker"}, `"stray"`, "expected -c COMMAND"},
		{"both", []string{"-c", "touch marker", "--", "touch", "marker"}, `"touch marker"`, "not both"},
		{"empty and program", []string{"-c", "", "--", "touch", "marker"}, `""`, "not both"},
		{"nothing behind --", []string{"--"}, `""`, "expected"},
	}
}

// A workspace that cannot be listed is an ordinary user's case: root can.
func TestUnreadableWorkspaceIsRefused(t *testing.T) {
	kerneltest.Require(t, kerneltest.OrdinaryUser, kerneltest.Landlock(1), kerneltest.Program("bash"))
	dir := realTempDir(t)
	closed := filepath.Join(dir, "closed")
	mkdir(t, closed)
	if o := sandboxed(t, dir, "--workspace", "closed", "-c", "true"); o.status != 0 {
		t.Fatalf("while it is open: %+v", o)
	}
	chmod(t, closed, 0o300)
	want := badInput{value: `"closed"`, want: "permission denied"}
	refused(t, sandboxed(t, dir, "--workspace", "closed", "-c", "true"), want)
}

func TestNoCommandAtAll(t *testing.T) {
	refused(t, sandboxed(t, t.TempDir()), badInput{value: `""`, want: "expected -c COMMAND"})
}
