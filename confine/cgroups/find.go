package cgroups

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// machine is what Find asks of the machine.
type machine interface {
	// usable is nil for a directory of a control group file system where this
	// process may make groups.
	usable(dir string) error
	// writable is nil for a file that this process may write.
	writable(file string) error
	// read is the content of a file of a group, without its last newline.
	read(file string) (string, error)
	// enable turns a controller on for what lies below a group of version 2.
	enable(dir string, c controller) error
	// managed reports whether somebody else, as systemd does, owns the tree around
	// that directory of version 2 and has not delegated it.
	managed(dir string) bool
}

// place is a directory where groups can be made.
type place struct {
	dir string
	v2  bool
}

// Host is where this process can make groups.
type Host struct {
	places map[controller]place
	// why is why there is no place for a controller.
	why map[controller]error
	// distant says that this process may not move processes there: it is a systemd
	// user scope, which this process is not in.
	distant bool
}

// Nowhere is a Host without any place, for that reason.
func Nowhere(why error) *Host {
	h := &Host{places: map[controller]place{}, why: map[controller]error{}}
	for _, c := range []controller{memory, pids, cpu, cpuacct, freezer, unified} {
		h.why[c] = why
	}
	return h
}

// errNone says that nothing was found that could have been refused.
var errNone = errors.New("the kernel has no such controller mounted here")

// limiting are the controllers that hold limits.
var limiting = []controller{memory, pids, cpu}

// find decides where each controller's groups go. parent is a subtree that was
// handed over, or empty.
func find(m machine, mounts []hierarchy, own membership, parent string) (*Host, error) {
	f := finder{m: m, mounts: mounts, own: own, host: &Host{places: map[controller]place{}, why: map[controller]error{}}}
	if parent != "" {
		if err := f.handedOver(parent); err != nil {
			return nil, err
		}
	}
	for _, c := range []controller{memory, pids, cpu, cpuacct, freezer} {
		f.version1(c)
	}
	f.version2()
	return f.host, nil
}

type finder struct {
	m      machine
	mounts []hierarchy
	own    membership
	// handed says that a subtree was handed over: below is its path in every
	// hierarchy.
	handed bool
	below  string
	host   *Host
}

// handedOver finds the hierarchy of a subtree. In the others, that of the same
// path is taken: with version 1 each controller has its own.
func (f *finder) handedOver(parent string) error {
	best := hierarchy{}
	for _, h := range f.mounts {
		if _, ok := within(h.point, parent); ok && len(h.point) > len(best.point) {
			best = h
		}
	}
	if best.point == "" {
		return fmt.Errorf("%s lies in no control group file system that is mounted", parent)
	}
	if err := f.m.usable(parent); err != nil {
		return err
	}
	f.below, _ = within(best.point, parent)
	f.handed = true
	return nil
}

// group is the directory in which a hierarchy's groups are made: that of the
// subtree, or our own group.
func (f *finder) group(h hierarchy, own string) (string, error) {
	if f.handed {
		return path.Join(h.point, f.below), nil
	}
	if own == "" {
		return "", errNone
	}
	return h.at(own)
}

// version1 does not ask who manages the tree: there is no mark of delegation that
// could be looked for, and a root that makes groups below its own is what every
// container runtime is there.
func (f *finder) version1(c controller) {
	i := slices.IndexFunc(f.mounts, func(h hierarchy) bool { return h.holds(c) })
	if i < 0 {
		f.host.why[c] = errNone
		return
	}
	dir, err := f.group(f.mounts[i], f.own[c])
	if err == nil {
		err = f.m.usable(dir)
	}
	f.host.set(c, place{dir: dir}, err)
}

func (h *Host) set(c controller, p place, err error) {
	if err != nil {
		h.why[c] = err
		return
	}
	h.places[c] = p
	delete(h.why, c)
}

func (f *finder) version2() {
	i := slices.IndexFunc(f.mounts, func(h hierarchy) bool { return h.v2 })
	if i < 0 {
		f.host.why[unified] = errNone
		return
	}
	dir, err := f.group(f.mounts[i], f.own[unified])
	if err == nil {
		err = f.m.usable(dir)
	}
	if err == nil && !f.handed && f.m.managed(dir) {
		err = errNotDelegated
	}
	if err == nil {
		err = f.reachable(f.mounts[i], dir)
	}
	f.host.set(unified, place{dir, true}, err)
	if err == nil {
		f.controllers(f.mounts[i], dir)
		return
	}
	for _, c := range limiting {
		if errors.Is(f.host.why[c], errNone) { // version 1 has not refused it
			f.host.why[c] = err
		}
	}
}

// reachable: to move a process takes the right to write also to the members of
// the nearest group that holds both its old and its new place.
func (f *finder) reachable(h hierarchy, dir string) error {
	from, err := h.at(f.own[unified])
	if err != nil {
		from = h.point // of another namespace: above all that is seen
	}
	for _, inside := within(dir, from); !inside; _, inside = within(dir, from) {
		dir = path.Dir(dir)
		if dir == "/" {
			return errNone
		}
	}
	return f.m.writable(path.Join(dir, procs))
}

const procs = "cgroup.procs"

var errNotDelegated = errors.New("control groups are managed here (by systemd) and this one is not delegated")

// controllers finds out which limits groups of version 2 can have. A group that
// has processes of its own cannot pass controllers on to groups below it, so
// that beside our own group one comes into question as well: there a payload of
// a delegated unit is told to put itself into a group of its own. Where that one
// is not managed, neither is the unit.
func (f *finder) controllers(h hierarchy, dir string) {
	candidates := []string{dir}
	if up := path.Dir(dir); !f.handed && dir != h.point && f.m.usable(up) == nil && (isUnit(up) || !f.m.managed(up)) && f.reachable(h, up) == nil {
		candidates = append(candidates, up)
	}
	for _, candidate := range candidates {
		f.enable(candidate)
		if passed := f.passed(candidate); len(passed) > 0 {
			f.take(place{candidate, true}, passed)
			return
		}
	}
	for _, c := range limiting {
		if _, have := f.host.places[c]; !have && f.has(dir, c) {
			f.host.why[c] = fmt.Errorf("%s does not pass the controller on to groups below it (cgroup.subtree_control)", dir)
		}
	}
}

// enable turns on what a subtree that was handed over does not pass on yet.
// Whether that succeeded is seen afterwards.
func (f *finder) enable(dir string) {
	if !f.handed {
		return
	}
	passed := f.passed(dir)
	for _, c := range limiting {
		if f.has(dir, c) && !slices.Contains(passed, string(c)) {
			_ = f.m.enable(dir, c)
		}
	}
}

func (f *finder) passed(dir string) []string { return f.list(dir, "cgroup.subtree_control") }

func (f *finder) has(dir string, c controller) bool {
	return slices.Contains(f.list(dir, "cgroup.controllers"), string(c))
}

func (f *finder) list(dir, file string) []string {
	text, err := f.m.read(path.Join(dir, file))
	if err != nil {
		return nil
	}
	return strings.Fields(text)
}

// take has the limits held in version 2 where version 1 has no such controller;
// a controller is in one of both.
func (f *finder) take(p place, passed []string) {
	f.host.places[unified] = p
	for _, c := range limiting {
		if slices.Contains(passed, string(c)) {
			f.host.set(c, p, nil)
		}
	}
}
