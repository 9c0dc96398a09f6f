package integration

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// The two uses of landlock_create_ruleset, told apart by their third argument.
var (
	creation = kerneltest.Arg{Index: 2, Value: 0}
	version  = kerneltest.Arg{Index: 2, Value: unix.LANDLOCK_CREATE_RULESET_VERSION}
)

func on(sysno uint32, errno unix.Errno, args ...kerneltest.Arg) kerneltest.Filter {
	return kerneltest.Filter{Sysno: sysno, Errno: errno, Args: args}
}

// Case L14: an outer filter that blocks Landlock, or lets it do nothing, keeps
// the command from running, and the message says which of the two it is.
func TestLandlockUnavailable(t *testing.T) {
	needs(t)
	const (
		blocked = "blocked from outside"
		inert   = "inert"
	)
	const create, add, restrict = unix.SYS_LANDLOCK_CREATE_RULESET, unix.SYS_LANDLOCK_ADD_RULE, unix.SYS_LANDLOCK_RESTRICT_SELF
	tests := []struct {
		name   string
		filter kerneltest.Filter
		want   string
		errno  string
	}{
		{"create EPERM", on(create, unix.EPERM), blocked, "EPERM"},
		{"create ENOSYS", on(create, unix.ENOSYS), blocked, "ENOSYS"},
		{"create EINVAL", on(create, unix.EINVAL), inert, "EINVAL"},
		{"version EPERM", on(create, unix.EPERM, version), blocked, "EPERM"},
		{"version ENOSYS", on(create, unix.ENOSYS, version), blocked, "ENOSYS"},
		{"version EINVAL", on(create, unix.EINVAL, version), inert, "EINVAL"},
		{"creation EPERM", on(create, unix.EPERM, creation), blocked, "EPERM"},
		{"creation ENOSYS", on(create, unix.ENOSYS, creation), blocked, "ENOSYS"},
		{"creation EINVAL", on(create, unix.EINVAL, creation), inert, "EINVAL"},
		{"rule EPERM", on(add, unix.EPERM), blocked, "EPERM"},
		{"rule ENOSYS", on(add, unix.ENOSYS), blocked, "ENOSYS"},
		{"restriction EPERM", on(restrict, unix.EPERM), blocked, "EPERM"},
		{"restriction ENOSYS", on(restrict, unix.ENOSYS), blocked, "ENOSYS"},
		{"restriction without effect", on(restrict, 0), inert, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			work, state := realTempDir(t), stateDir(t)
			marker := filepath.Join(work, "marker")
			if r := runUnder(t, work, state, kerneltest.Filter{Sysno: unix.SYS_SWAPOFF}); !r.Started || !exists(t, marker) {
				t.Fatalf("under a filter for another call: %+v", r)
			}
			mustBash(t, work, "rm marker")
			r := runUnder(t, work, state, tt.filter)
			if r.Started || !r.Unavailable || exists(t, marker) {
				t.Fatalf("it ran: %+v", r)
			}
			if !strings.Contains(r.Message, "landlock is "+tt.want) || !strings.Contains(r.Message, "did not run") {
				t.Errorf("got %q, want it to say %q", r.Message, tt.want)
			}
			if r.Errno != tt.errno || r.Hint == "" {
				t.Errorf("got errno %q and hint %q, want %q and some", r.Errno, r.Hint, tt.errno)
			}
		})
	}
}

// An answer that comes only in one of the calls of a run is the run's failure
// as well: nothing runs with half of its rules.
func TestRuleRefusedLaterOn(t *testing.T) {
	needs(t)
	work := realTempDir(t)
	// The flags of landlock_add_rule, its fourth argument, are always 0.
	filter := on(unix.SYS_LANDLOCK_ADD_RULE, unix.ENOMEM, kerneltest.Arg{Index: 3, Value: 0})
	r := runUnder(t, work, stateDir(t), filter)
	if r.Started || !r.Unavailable || exists(t, filepath.Join(work, "marker")) {
		t.Fatalf("it ran: %+v", r)
	}
	if r.Errno != "ENOMEM" || strings.Contains(r.Message, "landlock is ") {
		t.Errorf("got %+v, want ENOMEM and none of the three reasons", r)
	}
}

// runUnder runs "touch marker" with the library in a process under the filter.
func runUnder(t *testing.T, work, state string, filter kerneltest.Filter) ran {
	t.Helper()
	cmd := kerneltest.UnderFilter(self(t, "as-runner", work, state, "touch marker"), filter)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the runner: %v", err)
	}
	return parseRan(t, out)
}

func TestForgottenHook(t *testing.T) {
	needs(t)
	work, state := realTempDir(t), stateDir(t)
	out, err := self(t, "as-runner", work, state, "touch marker").Output()
	if err != nil || !parseRan(t, out).Started || !exists(t, filepath.Join(work, "marker")) {
		t.Fatalf("with the hook: %v, %s", err, out)
	}
	out, err = self(t, "as-forgetful", state).Output()
	if err == nil || !strings.Contains(string(out), "call confine.RunHelper() as the first statement of main") {
		t.Errorf("got %v and %q, want an error that says what to add", err, out)
	}
}

// A helper that is no helper is never taken for a command that ran.
func TestForeignHelper(t *testing.T) {
	needs(t)
	for _, helper := range []string{"/bin/true", "/bin/false", "/bin/sh", "/dev/null"} {
		t.Run(helper, func(t *testing.T) {
			work := realTempDir(t)
			e := newExecutor(t, executor.Config{Helper: helper})
			r, err := tryRun(e, executor.Request{Policy: in(policy.WorkspaceWrite, work), Command: "touch marker"})
			if !errors.Is(err, executor.ErrSandboxUnavailable) || exists(t, filepath.Join(work, "marker")) {
				t.Errorf("got %v and %+v, want that the sandbox is unavailable", err, r.Exit)
			}
		})
	}
}
