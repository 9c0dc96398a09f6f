package integration

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Input that no program can get is refused before anything starts.
func TestRefusedRequests(t *testing.T) {
	needs(t)
	work := realTempDir(t)
	e := newExecutor(t, executor.Config{})
	p := in(policy.WorkspaceWrite, work)
	succeeded(t, run(t, e, executor.Request{Policy: p, Command: "touch marker && rm marker"}))
	for name, r := range map[string]executor.Request{
		"nothing":               {},
		"both":                  {Command: "touch marker", Argv: []string{"touch", "marker"}},
		"empty command":         {Command: " \n"},
		"NUL byte":              {Command: "touch marker\x00"},
		"NUL byte in argument":  {Argv: []string{"touch", "marker", "\x00"}},
		"over the limit":        {Command: "touch marker; : " + strings.Repeat("x", 131072)},
		"argument over limit":   {Argv: []string{"touch", "marker", strings.Repeat("x", 131072)}},
		"NUL byte in variable":  {Command: "touch marker", Env: []string{"A=\x00"}},
		"variable without name": {Command: "touch marker", Env: []string{"=x"}},
		"unknown mode":          {Command: "touch marker", Policy: &policy.Policy{Mode: 7, Workspace: work}},
		"unknown requirement":   {Command: "touch marker", Require: "everything"},
		"workdir missing":       {Command: "touch marker", Workdir: "nope"},
	} {
		t.Run(name, func(t *testing.T) {
			if r.Policy == nil {
				r.Policy = p
			}
			_, err := tryRun(e, r)
			var input *policy.InputError
			if !errors.As(err, &input) {
				t.Errorf("got %v, want an input error", err)
			}
			if exists(t, filepath.Join(work, "marker")) {
				t.Error("it ran")
			}
		})
	}
	// The longest that the kernel takes does run.
	long := "touch marker; : "
	long += strings.Repeat("x", 131071-len(long))
	succeeded(t, run(t, e, executor.Request{Policy: p, Command: long}))
	if !exists(t, filepath.Join(work, "marker")) {
		t.Error("the longest command did not run")
	}
	// All arguments together are the kernel's to refuse.
	_, err := tryRun(e, executor.Request{Policy: p, Argv: append([]string{"touch"}, many(20, strings.Repeat("x", 131000))...)})
	var start *executor.StartError
	if !errors.As(err, &start) || start.Errno != unix.E2BIG {
		t.Errorf("arguments over the limit: %v", err)
	}
}

func many(n int, s string) (list []string) {
	for range n {
		list = append(list, s)
	}
	return list
}

// Arguments and environment may be megabytes: they do not travel in a message.
func TestLargeEnvironmentAndArguments(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{})
	var env []string
	for i := range 8 {
		env = append(env, fmt.Sprintf("BIG%d=%s", i, strings.Repeat("x", 100_000)))
	}
	p := in(policy.ReadOnly, realTempDir(t))
	r := run(t, e, executor.Request{Policy: p, Env: env, Command: "echo ${#BIG0} ${#BIG7}"})
	if stdout(r) != "100000 100000\n" {
		t.Errorf("got %q", r.Stdout.Tail)
	}
	r = run(t, e, executor.Request{Policy: p, Argv: append([]string{"bash", "-c", "echo $# ${#8}", "bash"}, many(8, strings.Repeat("x", 100_000))...)})
	if stdout(r) != "8 100000\n" {
		t.Errorf("got %q", r.Stdout.Tail)
	}
}

// A program after "--" that is not there or cannot be executed is a start
// error with the kernel's reason: the sandbox was ready.
func TestProgramThatCannotStart(t *testing.T) {
	needs(t)
	work := realTempDir(t)
	write(t, filepath.Join(work, "plain"), "text")
	write(t, filepath.Join(work, "noformat"), "text")
	mustBash(t, work, "chmod 755 noformat")
	e := newExecutor(t, executor.Config{})
	for name, want := range map[string]unix.Errno{
		"nosuchprogram": unix.ENOENT, "./nosuchprogram": unix.ENOENT, "./plain": unix.EACCES, "./noformat": unix.ENOEXEC, "/": unix.EACCES,
	} {
		_, err := tryRun(e, executor.Request{Policy: in(policy.ReadOnly, work), Argv: []string{name}})
		var start *executor.StartError
		if !errors.As(err, &start) || start.Errno != want {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
}
