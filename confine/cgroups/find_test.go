package cgroups

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// fake is a machine: the directories where groups can be made, and the files.
type fake struct {
	dirs    []string
	files   map[string]string
	foreign []string // managed
	enabled []string
}

func (f *fake) usable(dir string) error {
	if slices.Contains(f.dirs, dir) {
		return nil
	}
	return unix.EACCES
}

func (f *fake) writable(file string) error { return f.usable(path.Dir(file)) }

func (f *fake) read(file string) (string, error) {
	text, found := f.files[file]
	if !found {
		return "", fs.ErrNotExist
	}
	return text, nil
}

func (f *fake) enable(dir string, c controller) error {
	f.enabled = append(f.enabled, dir+" "+string(c))
	f.files[dir+"/cgroup.subtree_control"] += " " + string(c)
	return nil
}

func (f *fake) managed(dir string) bool { return slices.Contains(f.foreign, dir) }

const sys = "/sys/fs/cgroup"

var (
	hybrid = []hierarchy{
		{point: sys + "/cpu,cpuacct", root: "/", controllers: []string{"rw", "cpu", "cpuacct"}},
		{point: sys + "/memory", root: "/", controllers: []string{"rw", "memory"}},
		{point: sys + "/pids", root: "/", controllers: []string{"rw", "pids"}},
		{point: sys + "/freezer", root: "/", controllers: []string{"rw", "freezer"}},
		{point: sys + "/unified", root: "/", v2: true},
	}
	version2 = []hierarchy{{point: sys, root: "/", v2: true}}
	contain  = []hierarchy{{point: sys + "/pids", root: "/docker/1", controllers: []string{"rw", "pids"}}}
)

const inHybrid = "4:memory:/a\n3:cpu,cpuacct:/\n2:pids:/\n1:freezer:/\n0::/\n"

// findCases say where groups go, on machines that this one is not.
var findCases = []struct {
	name, own, parent string
	mounts            []hierarchy
	machine           fake
	want              map[controller]string
	err               string
}{
	{
		name: "nothing mounted", own: "", want: map[controller]string{},
	},
	{
		name: "hybrid, root", own: inHybrid, mounts: hybrid,
		machine: fake{dirs: []string{sys + "/memory/a", sys + "/cpu,cpuacct", sys + "/pids", sys + "/freezer", sys + "/unified"}},
		want: map[controller]string{
			memory: sys + "/memory/a", cpu: sys + "/cpu,cpuacct", cpuacct: sys + "/cpu,cpuacct", pids: sys + "/pids", freezer: sys + "/freezer", unified: sys + "/unified",
		},
	},
	{name: "hybrid, an ordinary user", own: inHybrid, mounts: hybrid, want: map[controller]string{}},
	{
		name: "hybrid, handed over by name", own: inHybrid, mounts: hybrid, parent: sys + "/pids/u/x",
		machine: fake{dirs: []string{sys + "/pids/u/x", sys + "/memory/u/x", sys + "/unified/u/x"}},
		want:    map[controller]string{pids: sys + "/pids/u/x", memory: sys + "/memory/u/x"}, // unified cannot be entered from outside
	},
	{
		name: "handed over, of another file system", own: inHybrid, mounts: hybrid, parent: "/tmp/x", machine: fake{dirs: []string{"/tmp/x"}},
		err: "lies in no control group file system",
	},
	{
		name: "handed over, not to us", own: inHybrid, mounts: hybrid, parent: sys + "/pids/x", err: "permission denied",
	},
	{
		name: "version 2, our own group holds us alone", own: "0::/user/s", mounts: version2,
		machine: fake{dirs: []string{sys + "/user/s"}, files: map[string]string{sys + "/user/s/cgroup.controllers": "memory pids", sys + "/user/s/cgroup.subtree_control": ""}},
		want:    map[controller]string{unified: sys + "/user/s"},
	},
	{
		name: "version 2, a delegated unit whose payload lies below", own: "0::/unit/leaf", mounts: version2,
		machine: fake{dirs: []string{sys + "/unit", sys + "/unit/leaf"}, files: map[string]string{sys + "/unit/cgroup.subtree_control": "cpu memory pids"}},
		want:    map[controller]string{unified: sys + "/unit", memory: sys + "/unit", pids: sys + "/unit", cpu: sys + "/unit"},
	},
	{
		name: "version 2, inside of a scope without a mark", own: "0::/app.slice/s.scope/leaf", mounts: version2,
		machine: fake{
			dirs:    []string{sys + "/app.slice", sys + "/app.slice/s.scope", sys + "/app.slice/s.scope/leaf"},
			foreign: []string{sys + "/app.slice", sys + "/app.slice/s.scope"},
			files:   map[string]string{sys + "/app.slice/s.scope/cgroup.subtree_control": "cpu memory pids"},
		},
		want: map[controller]string{unified: sys + "/app.slice/s.scope", memory: sys + "/app.slice/s.scope", pids: sys + "/app.slice/s.scope", cpu: sys + "/app.slice/s.scope"},
	},
	{
		name: "version 2, systemd's", own: "0::/user.slice/s.scope", mounts: version2,
		machine: fake{dirs: []string{sys + "/user.slice/s.scope", sys + "/user.slice"}, foreign: []string{sys + "/user.slice/s.scope"}},
		want:    map[controller]string{},
	},
	{
		name: "version 2, handed over and empty", own: "0::/jobs/me", mounts: version2, parent: sys + "/jobs/pool",
		machine: fake{dirs: []string{sys + "/jobs", sys + "/jobs/pool"}, files: map[string]string{sys + "/jobs/pool/cgroup.controllers": "cpuset cpu memory pids", sys + "/jobs/pool/cgroup.subtree_control": "cpu"}},
		want:    map[controller]string{unified: sys + "/jobs/pool", memory: sys + "/jobs/pool", pids: sys + "/jobs/pool", cpu: sys + "/jobs/pool"},
	},
	{
		name: "a container sees its own part", own: "3:pids:/docker/1/sub\n", mounts: contain, machine: fake{dirs: []string{sys + "/pids/sub"}},
		want: map[controller]string{pids: sys + "/pids/sub"},
	},
	{name: "a group that is not mounted", own: "3:pids:/docker/2\n", mounts: contain, machine: fake{dirs: []string{sys + "/pids"}}, want: map[controller]string{}},
	{name: "a group of another namespace", own: "3:pids:/../x\n", mounts: hybrid, machine: fake{dirs: []string{sys + "/pids", sys + "/x"}}, want: map[controller]string{}},
}

func TestFind(t *testing.T) {
	for _, tt := range findCases {
		t.Run(tt.name, func(t *testing.T) {
			h, err := find(&tt.machine, tt.mounts, parseMembership(tt.own), tt.parent)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, wanted %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := map[controller]string{}
			for c, p := range h.places {
				got[c] = p.dir
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("(-want +got):\n", diff)
			}
			for _, c := range limiting {
				if h.places[c].dir == "" && h.why[c] == nil {
					t.Errorf("there is no place for %s and no reason", c)
				}
			}
			for _, enabled := range tt.machine.enabled {
				if !strings.HasPrefix(enabled, tt.parent+" ") || tt.parent == "" {
					t.Errorf("enabled %q, which was not handed over", enabled)
				}
			}
		})
	}
}

// TestHandedDown: a user's manager owns what it was given, but for the units that
// it delegates.
func TestHandedDown(t *testing.T) {
	const manager = sys + "/user.slice/user-1000.slice/user@1000.service"
	marked := []string{manager, manager + "/app.slice/run-1.scope", sys + "/system.slice/ci.service"}
	for dir, want := range map[string]bool{
		manager + "/app.slice/run-1.scope":                  true,
		manager + "/app.slice/run-1.scope/leaf":             true,
		manager + "/app.slice/term.scope":                   false,
		manager + "/app.slice/unmarked.scope/leaf":          true,
		manager + "/app.slice/unmarked.scope/leaf/deeper":   true,
		manager + "/app.slice/sub.slice":                    false,
		manager + "/init.scope":                             false,
		manager + "/leaf":                                   false,
		manager + "/app.slice":                              false,
		manager:                                             false,
		sys + "/user.slice/user-1000.slice/session-2.scope": false,
		sys + "/system.slice/ci.service/payload":            true,
		sys + "/system.slice/ssh.service":                   false,
		sys:                                                 false,
	} {
		if got := handedDown(dir, func(dir string) bool { return slices.Contains(marked, dir) }); got != want {
			t.Errorf("%s: %v, wanted %v", dir, got, want)
		}
	}
}

// TestUsable: what is no place for groups, on this machine.
func TestUsable(t *testing.T) {
	for dir, want := range map[string]string{
		"/proc": "no directory of a control group file system", "/nope": "no such file or directory",
		"/" + strings.Repeat("a/", 600): "bytes long",
	} {
		if err := (kernel{}).usable(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v, wanted %q", dir, err, want)
		}
	}
}

// TestNothingWhereNoGroupsAre: a place that turns out to be of another file
// system gets no directory.
func TestNothingWhereNoGroupsAre(t *testing.T) {
	dir := t.TempDir()
	h := Nowhere(errors.New("test"))
	for _, c := range []controller{memory, pids, cpu, unified} {
		h.set(c, place{dir: dir}, nil)
	}
	_, err := h.New("x", policy.Limits{Memory: 1 << 30})
	if err == nil || !strings.Contains(err.Error(), "no directory of a control group file system") {
		t.Errorf("got %v", err)
	}
	g, err := h.New("x", policy.Limits{})
	if err != nil || g.Limits() != "" || g.Tree() != "" || g.Why() == nil {
		t.Errorf("got %+v, %v", g, err)
	}
	if found, err := filepath.Glob(dir + "/*"); err != nil || len(found) > 0 {
		t.Errorf("littered: %q, %v", found, err)
	}
	if err := h.Sweep(func(string) bool { return true }); err != nil {
		t.Error(err)
	}
}
