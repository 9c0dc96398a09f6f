package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Cases C01 to C04: what fails outside as well, and what only looks like a
// refusal, is no denial.
func TestNoDenial(t *testing.T) {
	needs(t)
	work := realTempDir(t)
	write(t, filepath.Join(work, "notexecutable"), "#!/bin/sh\n")
	if err := os.MkdirAll(filepath.Join(work, "sandbox/denied"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(work, "sandbox/denied/Permission denied.txt"), "")
	write(t, filepath.Join(work, "log"), "bash: line 1: /etc/x: Permission denied\ntouch: cannot touch '/etc/y': Permission denied\n")
	tests := []struct {
		command string
		status  int
	}{
		{"false", 1},
		{"exit 5", 5},
		{"grep -q nothere /etc/passwd", 1},
		{"./notexecutable", 126},
		{"nosuchprogram", 127},
		{`echo "x: Permission denied" >&2; exit 1`, 1},
		{`echo 'git@h: Permission denied (publickey).' >&2; exit 128`, 128},
		{"find .; exit 1", 1},
		{"cat log; cat log >&2", 0},
		{"cat /no/such/file", 1},
		{"ls /proc/self/nothing", 2},
	}
	e := newExecutor(t, executor.Config{})
	for _, tt := range tests {
		for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite, policy.DangerFullAccess} {
			t.Run(mode.String()+" "+tt.command, func(t *testing.T) {
				r := run(t, e, executor.Request{Policy: in(mode, work), Command: tt.command})
				if r.Exit.Code != tt.status || r.Denied {
					t.Errorf("got %+v, denied %t, want exit status %d", r.Exit, r.Denied, tt.status)
				}
				if tt.status != 0 && len(r.Denials) > 0 {
					t.Errorf("denials: %+v", r.Denials)
				}
			})
		}
	}
}

// An ordinary user may not do these anywhere.
func TestOrdinaryPermissionsAreNoDenial(t *testing.T) {
	needs(t, kerneltest.OrdinaryUser)
	work := realTempDir(t)
	e := newExecutor(t, executor.Config{})
	for _, command := range []string{
		"cat /etc/shadow", "echo x >/etc/passwd", "echo x >/etc/new", "rm /etc/passwd",
		"mkdir d; chmod 000 d; ls d; status=$?; chmod 700 d; rmdir d; exit $status",
	} {
		t.Run(command, func(t *testing.T) {
			if _, err := bash(t, work, command); err == nil {
				t.Fatal("without the sandbox it succeeds")
			}
			r := run(t, e, executor.Request{Policy: in(policy.WorkspaceWrite, work), Command: command})
			failed(t, r)
			if len(r.Denials) > 0 {
				t.Errorf("denials: %+v", r.Denials)
			}
		})
	}
}

// What the sandbox refuses and ordinary permissions allow is a denial with its
// path, whatever the program and the language of its message; case C06.
func TestDenial(t *testing.T) {
	needs(t)
	outside := realTempDir(t)
	e := newExecutor(t, executor.Config{})
	file, missing := filepath.Join(outside, "file"), filepath.Join(outside, "new")
	for _, tt := range []struct{ command, path string }{
		{"echo x >" + file, file},
		{"echo x >" + missing, missing},
		{"touch " + missing, missing},
		{"mkdir " + missing, missing},
		{"rm -f " + file, file},
		{"cp /etc/passwd " + missing, missing},
		{"/usr/bin/python3 -c 'open(\"" + missing + "\", \"w\")'", missing},
		{"LC_ALL=de_DE.UTF-8 touch " + missing, missing},
	} {
		t.Run(tt.command, func(t *testing.T) {
			if strings.Contains(tt.command, "python3") {
				kerneltest.Require(t, kerneltest.Program("/usr/bin/python3"))
			}
			reset := func() { write(t, file, "old"); _ = os.Remove(missing) }
			reset()
			before := tree(t, outside)
			mustBash(t, outside, tt.command)
			if tree(t, outside) == before {
				t.Fatal("without the sandbox nothing changes")
			}
			reset()
			r := run(t, e, executor.Request{Policy: in(policy.WorkspaceWrite, realTempDir(t)), Command: tt.command})
			failed(t, r)
			if tree(t, outside) != before {
				t.Error("it changed what is outside")
			}
			if len(r.Denials) != 1 || r.Denials[0].Path != tt.path || r.Denials[0].Verdict != fact.Denied || !r.Denied {
				t.Errorf("denied %t, denials %+v from %q", r.Denied, r.Denials, r.Stderr.Tail)
			}
		})
	}
}
