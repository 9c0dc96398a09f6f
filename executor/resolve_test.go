package executor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

func newExecutor(t *testing.T, c Config) *Executor {
	t.Helper()
	kerneltest.Require(t, kerneltest.Landlock(1))
	c.StateDir = filepath.Join(t.TempDir(), "state")
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func TestTimeout(t *testing.T) {
	for _, tt := range []struct {
		config Config
		asked  time.Duration
		want   time.Duration
	}{
		{Config{}, 0, 2 * time.Minute},
		{Config{}, time.Second, time.Second},
		{Config{}, time.Hour, 10 * time.Minute},
		{Config{}, -1, 10 * time.Minute},
		{Config{Timeout: time.Hour}, 0, 10 * time.Minute},
		{Config{MaxTimeout: -1}, time.Hour, time.Hour},
		{Config{Timeout: -1, MaxTimeout: -1}, 0, 0},
		{Config{MaxTimeout: -1}, -1, 0},
	} {
		if got := tt.config.timeout(tt.asked); got != tt.want {
			t.Errorf("%+v with %v asked gives %v, wanted %v", tt.config, tt.asked, got, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	workspace := t.TempDir()
	if err := errorsOf(os.Mkdir(filepath.Join(workspace, "sub"), 0o755), os.Symlink(workspace, filepath.Join(workspace, "link"))); err != nil {
		t.Fatal(err)
	}
	e := newExecutor(t, Config{Policy: policy.Policy{Workspace: filepath.Join(workspace, "link")}, Timeout: time.Minute, Grace: time.Second})
	s, err := e.Resolve(Request{Command: "true", Workdir: "sub"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Policy.Workspace != workspace || s.Dir != filepath.Join(workspace, "sub") || s.Timeout != time.Minute || s.Grace != time.Second {
		t.Errorf("got workspace %s, directory %s, timeout %v, grace %v", s.Policy.Workspace, s.Dir, s.Timeout, s.Grace)
	}
	if filepath.Base(s.Program) != "bash" || strings.Join(s.Argv, " ") != "bash -c true" {
		t.Errorf("got program %s with %q", s.Program, s.Argv)
	}
}

func TestResolveRefuses(t *testing.T) {
	workspace := t.TempDir()
	file := filepath.Join(workspace, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	e := newExecutor(t, Config{Policy: policy.Policy{Workspace: workspace}})
	for _, tt := range []struct {
		name    string
		request Request
		want    string
	}{
		{"no command", Request{}, "non-empty"},
		{"white space", Request{Command: " \n"}, "non-empty"},
		{"both", Request{Command: "true", Argv: []string{"true"}}, "not both"},
		{"a NUL byte", Request{Command: "true\x00"}, "NUL"},
		{"an empty program", Request{Argv: []string{""}}, "non-empty program"},
		{"too long", Request{Command: strings.Repeat("x", 1<<17)}, "131071"},
		{"a missing workdir", Request{Command: "true", Workdir: "nope"}, "nope"},
		{"a workdir that is a file", Request{Command: "true", Workdir: "file"}, "directory"},
		{"a variable without a value", Request{Command: "true", Env: []string{"X"}}, "NAME=VALUE"},
		{"a workspace that holds the state", Request{Command: "true", Policy: &policy.Policy{Mode: policy.WorkspaceWrite, Workspace: filepath.Dir(e.state.dir)}}, "state directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := e.Resolve(tt.request)
			var input *policy.InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, wanted one line with %q", err, tt.want)
			}
		})
	}
}

func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	bin, other := filepath.Join(dir, "bin"), filepath.Join(dir, "other")
	err := errorsOf(
		os.Mkdir(bin, 0o755), os.Mkdir(other, 0o755),
		os.WriteFile(filepath.Join(bin, "tool"), nil, 0o644),
		os.WriteFile(filepath.Join(other, "tool"), nil, 0o755),
		os.WriteFile(filepath.Join(bin, "data"), nil, 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		errno      syscall.Errno
	}{
		{"tool", filepath.Join(other, "tool"), 0},
		{"data", "", syscall.EACCES},
		{"nope", "", syscall.ENOENT},
		{"other/tool", filepath.Join(other, "tool"), 0},
		{"./bin", "", syscall.EACCES},
		{"bin/nope", "", syscall.ENOENT},
	} {
		got, err := findProgram(tt.name, "nowhere:bin:"+other, dir)
		var start *StartError
		if tt.errno == 0 && (err != nil || got != tt.want) || tt.errno != 0 && (!errors.As(err, &start) || start.Errno != tt.errno) {
			t.Errorf("findProgram(%q) = %q, %v; wanted %q, %v", tt.name, got, err, tt.want, tt.errno)
		}
	}
}
