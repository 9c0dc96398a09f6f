package cgroups

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

const (
	unit  = "sandbox-exec-x.scope"
	slice = "/user.slice/user-7.slice/user@7.service/app.slice/"
)

func TestScopeDir(t *testing.T) {
	for name, tt := range map[string]struct {
		mounts    []hierarchy
		own, want string
		err       string
	}{
		"version 2":                   {version2, "0::" + slice + unit, sys + slice + unit, ""},
		"hybrid":                      {hybrid, "1:name=systemd:/x\n0::" + slice + unit, sys + "/unified" + slice + unit, ""},
		"version 1 alone":             {contain, "0::" + slice + unit, "", errNone.Error()},
		"it was not moved":            {version2, "0::/user.slice/session-1.scope", "", "was to be in " + unit},
		"moved somewhere else":        {version2, "0::" + slice + unit + "/leaf", "", "was to be in " + unit},
		"outside of what is mounted":  {[]hierarchy{{point: sys, root: "/a", v2: true}}, "0::/" + unit, "", "outside"},
		"of another group namespace":  {version2, "0::/../" + unit, "", "outside"},
		"in none of version 2 at all": {version2, "", "", "was to be in " + unit},
	} {
		got, err := scopeDir(tt.mounts, parseMembership(tt.own), unit)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: got %q and %v", name, got, err)
		}
	}
}

// TestScopeHost: what is not passed on yet is turned on, and what is not there is
// told.
func TestScopeHost(t *testing.T) {
	dir := sys + slice + unit
	for name, tt := range map[string]struct {
		controllers string
		want        []controller
		lacks       bool
	}{
		"systemd gives all three": {"cpu io memory pids", []controller{unified, memory, pids, cpu}, false},
		"no memory":               {"pids", []controller{unified, pids}, true},
		"hybrid":                  {"", []controller{unified}, true},
	} {
		m := &fake{dirs: []string{dir}, files: map[string]string{dir + "/cgroup.controllers": tt.controllers, dir + "/cgroup.subtree_control": ""}}
		h := scopeHost(m, dir)
		want := map[controller]place{}
		for _, c := range tt.want {
			want[c] = place{dir, true}
		}
		if diff := cmp.Diff(want, h.places, cmp.AllowUnexported(place{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got := h.Lacks(policy.Limits{Memory: 1 << 30}); got != tt.lacks {
			t.Errorf("%s: lacks memory %v", name, got)
		}
		if why := h.why[memory]; tt.lacks && (why == nil || !strings.Contains(why.Error(), userScope)) || !h.distant {
			t.Errorf("%s: %v", name, why)
		}
	}
}

// TestLacks: what nobody asked for is not lacked.
func TestLacks(t *testing.T) {
	nowhere := Nowhere(errNotDelegated)
	for _, l := range []policy.Limits{{}, {OpenFiles: 9, FileSize: 9}} {
		if nowhere.Lacks(l) {
			t.Errorf("%+v is lacked", l)
		}
	}
	for _, l := range []policy.Limits{{Memory: 1 << 30}, {Processes: 64}, {CPUs: 1}} {
		if !nowhere.Lacks(l) {
			t.Errorf("%+v is not lacked", l)
		}
	}
}

// TestDistantGroup: the names by which a report tells of it.
func TestDistantGroup(t *testing.T) {
	g := files(t, true, map[string]string{"cgroup.kill": ""})
	g.dirs = []string{g.v2Dir()}
	if g.Inside() != "" || g.Guarded() || !strings.HasPrefix(g.Limits(), "delegated control group v2: ") || g.Tree() != "cgroup.kill" {
		t.Errorf("of our own: %q, %v, %q, %q", g.Inside(), g.Guarded(), g.Limits(), g.Tree())
	}
	g.distant = true
	if g.Inside() == "" || !g.Guarded() || !strings.HasPrefix(g.Limits(), "systemd user scope: ") || g.Tree() != "systemd user scope, cgroup.kill" {
		t.Errorf("in a scope: %q, %v, %q, %q", g.Inside(), g.Guarded(), g.Limits(), g.Tree())
	}
	if dir, err := g.Open(); dir != nil || err != nil {
		t.Errorf("nothing can be started in it: %v, %v", dir, err)
	}
}
