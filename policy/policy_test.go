package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestModes(t *testing.T) {
	var zero Mode
	if zero != ReadOnly || !zero.Confines() || DangerFullAccess.Confines() || !Mode(9).Confines() {
		t.Error("a mode that is not danger-full-access must confine, and zero must be read-only")
	}
	for _, m := range []Mode{ReadOnly, WorkspaceWrite, DangerFullAccess} {
		var back Mode
		if err := back.UnmarshalText([]byte(m.String())); err != nil || back != m {
			t.Errorf("%s came back as %s, %v", m, back, err)
		}
	}
	for _, name := range []string{"", "foo", "Read-Only", "mode(1)", "readonly"} {
		_, err := ParseMode(name)
		if err == nil || !strings.Contains(err.Error(), "read-only, workspace-write, danger-full-access") {
			t.Errorf("ParseMode(%q) gave %v, wanted the accepted names", name, err)
		}
	}
	if _, err := Mode(9).MarshalText(); err == nil {
		t.Error("mode 9 has a text")
	}
}

func TestWithin(t *testing.T) {
	for _, tt := range []struct {
		root, path string
		want       bool
	}{
		{"/a", "/a", true},
		{"/a", "/a/b", true},
		{"/a", "/ab", false},
		{"/a/b", "/a", false},
		{"/", "/x", true},
		{"/a", "/a/..b", true},
	} {
		if got := Within(tt.root, tt.path); got != tt.want {
			t.Errorf("Within(%s, %s) = %v", tt.root, tt.path, got)
		}
	}
}

func TestCanonical(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := errors.Join(os.Mkdir(real, 0o755), os.Symlink(real, link)); err != nil {
		t.Fatal(err)
	}
	p := Policy{
		Mode: WorkspaceWrite, Workspace: link,
		Writable:   []Root{{Path: link + "/../link"}, {Path: dir + "/missing", Optional: true}},
		Unreadable: []string{dir + "/later/deep"},
		Devices:    []string{"/dev/null"},
	}
	c, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if c.Workspace != real || len(c.Writable) != 1 || c.Writable[0].Path != real || c.Unreadable[0] != dir+"/later/deep" || c.Temp != TempPrivate || c.Terminals != TerminalsNone {
		t.Errorf("got %+v", c)
	}
	if p.Workspace != link {
		t.Error("the caller's policy was changed")
	}
}

func TestCanonicalRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ww := func(change func(*Policy)) Policy {
		p := Policy{Mode: WorkspaceWrite, Workspace: dir}
		change(&p)
		return p
	}
	for _, tt := range []struct {
		name   string
		policy Policy
		want   string
	}{
		{"an unknown mode", Policy{Mode: 9, Workspace: dir}, "mode"},
		{"an unknown temp", Policy{Workspace: dir, Temp: "x"}, "private, host"},
		{"unknown terminals", Policy{Workspace: dir, Terminals: "x"}, "none, host"},
		{"no workspace", Policy{}, "no such file"},
		{"a missing workspace", Policy{Workspace: dir + "/nope"}, "no such file"},
		{"a workspace that is a file", Policy{Workspace: file}, "directory"},
		{"the root", Policy{Workspace: "/"}, "root"},
		{"the kernel", Policy{Workspace: "/proc/self"}, "kernel"},
		{"a writable root in read-only", Policy{Workspace: dir, Writable: []Root{{Path: dir}}}, "workspace-write"},
		{"a missing root", ww(func(p *Policy) { p.Writable = []Root{{Path: dir + "/nope"}} }), "no such file"},
		{"all devices", ww(func(p *Policy) { p.Writable = []Root{{Path: "/dev"}} }), "device"},
		{"a device that is none", ww(func(p *Policy) { p.Devices = []string{file} }), "device file"},
		{"unreadable in the workspace", ww(func(p *Policy) { p.Unreadable = []string{file} }), "writable root"},
		{"unreadable in /tmp with the host's", ww(func(p *Policy) { p.Temp = TempHost; p.Unreadable = []string{"/tmp/x"} }), "writable root"},
		{"everything unreadable", ww(func(p *Policy) { p.Unreadable = []string{"/"} }), "no program"},
		{"two dots behind what is missing", ww(func(p *Policy) { p.Unreadable = []string{dir + "/nope/../x"} }), "no such file"},
		{"an unreadable device that is asked for", ww(func(p *Policy) { p.Unreadable = []string{"/dev"}; p.Devices = []string{"/dev/null"} }), "asked for"},
		{"unreadable terminals that are asked for", ww(func(p *Policy) { p.Unreadable = []string{"/dev/pts"}; p.Terminals = TerminalsHost }), "asked for"},
		{"the host's /tmp without confinement", Policy{Mode: DangerFullAccess, Workspace: dir, Temp: TempHost}, "confines nothing"},
		{"unreadable without confinement", Policy{Mode: DangerFullAccess, Workspace: dir, Unreadable: []string{file}}, "confines nothing"},
		{"a device without confinement", Policy{Mode: DangerFullAccess, Workspace: dir, Devices: []string{"/dev/null"}}, "confines nothing"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.policy.Canonical()
			var input *InputError
			if !errors.As(err, &input) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, wanted one line with %q", err, tt.want)
			}
		})
	}
}
