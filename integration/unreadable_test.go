package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// hideout holds a hidden file and a hidden directory, with neighbours at every
// level that must stay readable.
func hideout(t *testing.T) (dir string, hidden []string) {
	t.Helper()
	dir = realTempDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "a/keys/deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{
		"a/secret": secret, "a/keys/id": secret, "a/keys/deep/id": secret, "a/open": "open", "open": "open",
	} {
		write(t, filepath.Join(dir, name), body)
	}
	return dir, []string{filepath.Join(dir, "a/secret"), filepath.Join(dir, "a/keys")}
}

func TestUnreadable(t *testing.T) {
	needs(t)
	dir, hidden := hideout(t)
	for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
		p := in(mode, realTempDir(t))
		p.Unreadable = hidden
		for _, name := range []string{"a/secret", "a/keys/id", "a/keys/deep/id"} {
			t.Run(mode.String()+" "+name, func(t *testing.T) {
				command := "cat " + filepath.Join(dir, name)
				if got := mustBash(t, dir, command); got != secret {
					t.Fatalf("without the sandbox it prints %q", got)
				}
				succeeded(t, shell(t, in(mode, p.Workspace), command)) // nor with another policy
				r := shell(t, p, command)
				failed(t, r)
				if r.Stdout.Bytes > 0 {
					t.Errorf("it printed %q", r.Stdout.Tail)
				}
				if len(r.Denials) != 1 || r.Denials[0].Path != filepath.Join(dir, name) || !r.Denied {
					t.Errorf("denials: %+v", r.Denials)
				}
			})
		}
		t.Run(mode.String()+" beside", func(t *testing.T) {
			r := shell(t, p, fmt.Sprintf("cd %s && cat open a/open && ls a && ls a/keys && cat /etc/passwd >/dev/null", dir))
			succeeded(t, r)
			if want := "openopenkeys\nopen\nsecret\ndeep\nid\n"; stdout(r) != want {
				t.Errorf("got %q, want the neighbours and all names: %q", r.Stdout.Tail, want)
			}
		})
	}
}

// A symlink to what is hidden is another name for the same place.
func TestUnreadableThroughSymlink(t *testing.T) {
	needs(t)
	dir, hidden := hideout(t)
	link := filepath.Join(realTempDir(t), "link")
	if err := os.Symlink(hidden[0], link); err != nil {
		t.Fatal(err)
	}
	p := in(policy.ReadOnly, dir)
	p.Unreadable = []string{link}
	for _, path := range []string{link, hidden[0]} {
		mustBash(t, dir, "cat "+path)
		failed(t, shell(t, p, "cat "+path))
	}
}

// What cannot be expressed is refused, never ignored.
func TestUnreadableRefused(t *testing.T) {
	needs(t)
	dir, hidden := hideout(t)
	e := newExecutor(t, executor.Config{})
	tests := map[string]struct {
		mode policy.Mode
		path string
	}{
		"in the workspace":       {policy.WorkspaceWrite, hidden[0]},
		"the workspace itself":   {policy.WorkspaceWrite, dir},
		"the root":               {policy.ReadOnly, "/"},
		"below /proc":            {policy.ReadOnly, "/proc/1/environ"},
		"nothing is held at all": {policy.DangerFullAccess, hidden[0]},
		"empty":                  {policy.ReadOnly, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			marker := filepath.Join(dir, "marker")
			p := in(tt.mode, dir)
			r := run(t, e, executor.Request{Policy: in(policy.WorkspaceWrite, dir), Command: "touch " + marker + "; rm " + marker})
			succeeded(t, r)
			p.Unreadable = []string{tt.path}
			_, err := tryRun(e, executor.Request{Policy: p, Command: "touch " + marker})
			var input *policy.InputError
			var unavailable *executor.UnavailableError
			if !errors.As(err, &input) && !errors.As(err, &unavailable) {
				t.Errorf("got %v, want an error that names the path", err)
			}
			if exists(t, marker) {
				t.Error("it ran")
			}
		})
	}
}
