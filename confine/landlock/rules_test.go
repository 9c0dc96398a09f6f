package landlock

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// machine is a small file system.
var machine = fstest.MapFS{
	"bin":                  {Mode: fs.ModeSymlink, Data: []byte("usr/bin")},
	"usr/bin/bash":         {Mode: 0o755},
	"home/u/.ssh/id":       {Mode: 0o600},
	"home/u/.netrc":        {Mode: 0o600},
	"home/u/work/main.go":  {Mode: 0o644},
	"home/other/x":         {Mode: 0o644},
	"proc/1/environ":       {Mode: 0o400},
	"dev/null":             {Mode: fs.ModeDevice | fs.ModeCharDevice},
	"dev/ptmx":             {Mode: fs.ModeSymlink, Data: []byte("pts/ptmx")},
	"dev/pts/ptmx":         {Mode: fs.ModeDevice | fs.ModeCharDevice},
	"dev/pts/0":            {Mode: fs.ModeDevice | fs.ModeCharDevice},
	"dev/sda":              {Mode: fs.ModeDevice},
	"tmp/x":                {Mode: 0o644},
	"var/tmp/state/s/file": {Mode: 0o644},
}

func rules(t *testing.T, p policy.Policy) []Rule {
	t.Helper()
	got, err := Rules(p, "/var/tmp/state/s", machine, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func paths(rules []Rule) map[string]string {
	m := map[string]string{}
	for _, r := range rules {
		m[r.Path] = short(r.Access)
	}
	return m
}

func short(a Access) string {
	return map[Access]string{List: "list", Read: "read", Device: "device", Write: "write", Device | List: "terminals"}[a]
}

func TestRules(t *testing.T) {
	base := map[string]string{
		"/": "list", "/usr": "read", "/home": "read", "/proc": "read", "/tmp": "read", "/var": "read",
		"/dev/null": "device", "/dev/pts/ptmx": "device", "/var/tmp/state/s": "write",
	}
	with := func(change map[string]string) map[string]string {
		m := map[string]string{}
		for k, v := range base {
			m[k] = v
		}
		for k, v := range change {
			m[k] = v
			if v == "" {
				delete(m, k)
			}
		}
		return m
	}
	tests := []struct {
		name   string
		policy policy.Policy
		want   map[string]string
	}{
		{"read-only", policy.Policy{Workspace: "/home/u/work"}, base},
		{"workspace-write", policy.Policy{Mode: policy.WorkspaceWrite, Workspace: "/home/u/work"}, with(map[string]string{"/home/u/work": "write"})},
		{"an extra root", policy.Policy{Mode: policy.WorkspaceWrite, Workspace: "/home/u/work", Writable: []policy.Root{{Path: "/home/other"}}}, with(map[string]string{"/home/u/work": "write", "/home/other": "write"})},
		{"the host's /tmp", policy.Policy{Temp: policy.TempHost}, with(map[string]string{"/tmp": "write"})},
		{"the host's IPC", policy.Policy{IPC: policy.IPCHost}, with(map[string]string{"/dev/shm": "write"})},
		{"the host's terminals", policy.Policy{Terminals: policy.TerminalsHost}, with(map[string]string{"/dev/pts": "terminals"})},
		{"a device", policy.Policy{Devices: []string{"/dev/sda"}}, with(map[string]string{"/dev/sda": "device"})},
		{"an unreadable device", policy.Policy{Unreadable: []string{"/dev/null"}}, with(map[string]string{"/dev/null": ""})},
		{"no device at all", policy.Policy{Unreadable: []string{"/dev"}}, with(map[string]string{"/dev/null": "", "/dev/pts/ptmx": ""})},
		{"an unreadable directory", policy.Policy{Unreadable: []string{"/home/u/.ssh"}}, with(map[string]string{
			"/home": "", "/home/other": "read", "/home/u/.netrc": "read", "/home/u/work": "read",
		})},
		{"two unreadable paths", policy.Policy{Unreadable: []string{"/home/u/.ssh", "/home/u/.netrc"}}, with(map[string]string{
			"/home": "", "/home/other": "read", "/home/u/work": "read",
		})},
		{"an unreadable path that does not exist yet", policy.Policy{Unreadable: []string{"/home/u/.aws/key"}}, with(map[string]string{
			"/home": "", "/home/other": "read", "/home/u/.netrc": "read", "/home/u/work": "read", "/home/u/.ssh": "read",
		})},
		{"a whole top-level directory", policy.Policy{Unreadable: []string{"/home"}}, with(map[string]string{"/home": ""})},
		{"a root inside what is unreadable", policy.Policy{Mode: policy.WorkspaceWrite, Workspace: "/home/u/work", Unreadable: []string{"/home/u"}}, with(map[string]string{
			"/home": "", "/home/other": "read", "/home/u/work": "write",
		})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, paths(rules(t, tt.policy))); diff != "" {
				t.Error("rules (-want +got):\n", diff)
			}
		})
	}
}

func TestRulesThatCannotBeExpressed(t *testing.T) {
	_, err := Rules(policy.Policy{Unreadable: []string{"/proc/1"}}, "", machine, nil)
	if err == nil || !strings.Contains(err.Error(), "/proc/1") {
		t.Errorf("got error %v, wanted one that names /proc/1", err)
	}
}

// TestOtherDevices: a second mount of devices is not readable either.
func TestOtherDevices(t *testing.T) {
	mounts := []policy.Mount{{Point: "/dev/pts", Type: "devpts"}, {Point: "/home/other", Type: "devtmpfs"}, {Point: "/home/u", Type: "ext4"}}
	got, err := Rules(policy.Policy{}, "/var/tmp/state/s", machine, mounts)
	if err != nil {
		t.Fatal(err)
	}
	if Granted(got, "/home/other/x", ReadFile) || !Granted(got, "/home/u/.netrc", ReadFile) {
		t.Errorf("the rules are %v", paths(got))
	}
}

// TestNoDeviceNodes: through a device node in the workspace root would reach
// the raw disk.
func TestNoDeviceNodes(t *testing.T) {
	for _, name := range []string{"make_char", "make_block", "ioctl_dev"} {
		if strings.Contains(","+Write.String()+",", ","+name+",") {
			t.Errorf("a writable root grants %s", name)
		}
	}
	if !strings.Contains(Write.String(), "refer") {
		t.Error("a writable root does not grant refer")
	}
}

func TestGranted(t *testing.T) {
	r := rules(t, policy.Policy{Mode: policy.WorkspaceWrite, Workspace: "/home/u/work", Unreadable: []string{"/home/u/.ssh"}})
	tests := []struct {
		path string
		want Access
		ok   bool
	}{
		{"/home/u/work/new", WriteFile, true},
		{"/home/u/work", MakeFile, true},
		{"/home/u/workshop", WriteFile, false},
		{"/home/u/.ssh/id", ReadFile, false},
		{"/home/u/.netrc", ReadFile, true},
		{"/home/u/.netrc", WriteFile, false},
		{"/dev/null", WriteFile, true},
		{"/dev/sda", ReadFile, false},
		{"/dev/pts/0", ReadFile, false},
		{"/var/tmp/state/s/deep/er", RemoveFile, true},
		{"/var/tmp/state/other", WriteFile, false},
	}
	for _, tt := range tests {
		if got := Granted(r, tt.path, tt.want); got != tt.ok {
			t.Errorf("Granted(%s, %s) = %v, wanted %v", tt.path, tt.want, got, tt.ok)
		}
	}
}
