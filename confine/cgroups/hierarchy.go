package cgroups

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// controller is what a group can do.
type controller string

// The controllers that are used. unified is no controller of the kernel's: it
// stands for a group of version 2, which also without any controller tells the
// processor time and can be killed as a whole.
const (
	memory  controller = "memory"
	pids    controller = "pids"
	cpu     controller = "cpu"
	cpuacct controller = "cpuacct"
	freezer controller = "freezer"
	unified controller = "unified"
)

// hierarchy is one mounted tree of groups.
type hierarchy struct {
	// point is where it is mounted, root which of its groups lies there.
	point, root string
	v2          bool
	controllers []string // of version 1
}

// holds reports whether a hierarchy of version 1 has that controller.
func (h hierarchy) holds(c controller) bool {
	return !h.v2 && slices.Contains(h.controllers, string(c))
}

// at is the directory of the group that /proc/PID/cgroup calls by that path.
func (h hierarchy) at(group string) (string, error) {
	rest, within := within(h.root, group)
	if !within {
		return "", fmt.Errorf("the group %s lies outside of what is mounted at %s", group, h.point)
	}
	return path.Join(h.point, rest), nil
}

// within is what of name lies below root; both are clean and absolute.
func within(root, name string) (rest string, ok bool) {
	if strings.HasPrefix(name+"/", "/../") { // of another cgroup namespace
		return "", false
	}
	if root == "/" {
		return name, true
	}
	rest, ok = strings.CutPrefix(name+"/", root+"/")
	return rest, ok
}

// membership is a process's groups as /proc/PID/cgroup lists them: the path by
// controller, and under unified that of version 2.
type membership map[controller]string

// parseMembership reads lines of the form "4:cpu,cpuacct:/path" and "0::/path"
// (cgroups(7)).
func parseMembership(text string) membership {
	own := membership{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(fields) != 3 {
			continue
		}
		if fields[0] == "0" && fields[1] == "" {
			own[unified] = fields[2]
			continue
		}
		for name := range strings.SplitSeq(fields[1], ",") {
			own[controller(name)] = fields[2]
		}
	}
	return own
}
