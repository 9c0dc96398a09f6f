package cgroups

import (
	"fmt"
	"os"
	"path"
	"strconv"
)

// leaf is the group of a scope's first member: a group that has members of its
// own cannot pass controllers on.
const leaf = "leaf"

// Scope is the Host of a delegated scope, and its directory. Its one member, a
// process of ours, goes into a group of its own there. The calling process is not
// in it, and may not move processes into it: Group.Inside is for who does.
func Scope(unit string, member int) (h *Host, dir string, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", member))
	if err != nil {
		return nil, "", fmt.Errorf("read the control groups of a process of ours: %w", err)
	}
	mounts, err := hierarchies()
	if err != nil {
		return nil, "", fmt.Errorf("list the control group file systems: %w", err)
	}
	if dir, err = scopeDir(mounts, parseMembership(string(text)), unit); err != nil {
		return nil, "", err
	}
	if err := (kernel{}).usable(dir); err != nil {
		return nil, "", err
	}
	if err := makeDir(dir, path.Join(dir, leaf)); err != nil {
		return nil, "", err
	}
	if err := writeFile(path.Join(dir, leaf, procs), strconv.Itoa(member)); err != nil {
		return nil, "", err
	}
	return scopeHost(kernel{}, dir), dir, nil
}

// Inside is where below its scope a group lies, from which this process is kept:
// somebody else has to move the command there. It is empty for other groups.
func (g *Group) Inside() string {
	if !g.distant || g.v2Dir() == "" {
		return ""
	}
	return "/" + path.Base(g.v2Dir())
}

// Guarded reports whether the members die also when this process is killed: then
// the scope's first member kills whatever is in the scope (needs Linux 5.14).
func (g *Group) Guarded() bool { return g.distant && g.killFile() != "" }

// Check is nil for a process that is in the group.
func (g *Group) Check(pid int) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return fmt.Errorf("read the control groups of process %d: %w", pid, err)
	}
	if own := parseMembership(string(text))[unified]; path.Base(own) != path.Base(g.v2Dir()) {
		return fmt.Errorf("process %d is in the control group %s, wanted %s", pid, own, g.v2Dir())
	}
	return nil
}
