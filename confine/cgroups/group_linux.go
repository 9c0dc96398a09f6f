package cgroups

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Group is the control group of one run: one directory of version 2, or with
// version 1 one for each controller. It may be empty of any, where none could be
// made and none was needed. It is safe for use by several goroutines.
type Group struct {
	limits policy.Limits
	// dirs are all directories, in the order in which they were made.
	dirs []string
	// parts is the directory that serves a controller, v2 of which version it is.
	parts map[controller]string
	v2    map[controller]bool
	// distant says that the group lies in a systemd user scope.
	distant bool
	// why is why there is no process limit where none was asked; nil where it is held.
	why error

	mu sync.Mutex
	// forks is the count of refused forks before the first strike, which causes
	// more of them, and present the members then; struck says that there was one.
	forks, present uint64
	struck         bool
}

// New makes a group of that name with those limits. It is whole or not at all:
// where something fails that was asked, everything is removed again. The default
// process limit, the count of processor time and the ways to kill are had where
// they can be.
func (h *Host) New(name string, l policy.Limits) (*Group, error) {
	g := &Group{limits: l, parts: map[controller]string{}, v2: map[controller]bool{}, distant: h.distant}
	for _, want := range wanted(l) {
		if want.instead != "" && g.parts[want.instead] != "" {
			continue
		}
		err := g.add(h, want.controller, name)
		if err != nil && want.asked != "" {
			return nil, errors.Join(fmt.Errorf("%s: no control group: %w", want.asked, err), g.Delete(Patience))
		}
		if want.controller == pids {
			g.why = err
		}
	}
	return g, nil
}

// want is a part of a group.
type want struct {
	controller
	// asked is the limit that needs it; empty where it may be missing.
	asked string
	// instead is a controller that makes this one superfluous.
	instead controller
}

func wanted(l policy.Limits) []want {
	list := []want{{controller: unified}, {controller: freezer, instead: unified}, {controller: cpuacct, instead: unified}}
	list = append(list, want{controller: pids, asked: policy.Limits{Processes: l.Processes}.String()})
	if l.Memory != 0 {
		list = append(list, want{controller: memory, asked: policy.Limits{Memory: l.Memory}.String()})
	}
	if l.CPUs != 0 {
		list = append(list, want{controller: cpu, asked: policy.Limits{CPUs: l.CPUs}.String()})
	}
	return list
}

// add makes the directory of a controller and sets its limit.
func (g *Group) add(h *Host, c controller, name string) error {
	p, found := h.places[c]
	if !found {
		return h.why[c]
	}
	dir := path.Join(p.dir, name)
	fresh := !slices.Contains(g.dirs, dir)
	if fresh {
		if err := makeDir(p.dir, dir); err != nil {
			return err
		}
		g.dirs = append(g.dirs, dir)
	}
	g.parts[c], g.v2[c] = dir, p.v2
	err := g.set(c)
	if err != nil {
		delete(g.parts, c)
		delete(g.v2, c)
		if fresh {
			g.dirs = g.dirs[:len(g.dirs)-1]
			err = errors.Join(err, os.Remove(dir))
		}
	}
	return err
}

func makeDir(parent, dir string) error {
	if err := checkMagic(parent); err != nil {
		return err
	}
	return os.Mkdir(dir, 0o755)
}

// Entrances are the files to which the command's own thread has to write a 0
// before it executes the command: that puts it into each group of version 1. A
// thread that moves itself takes some 40 µs; moving a process from outside waits
// for every processor to have scheduled, 8 ms here
// (kernel/cgroup/cgroup.c, cgroup_procs_write_start).
func (g *Group) Entrances() []string {
	var list []string
	for _, dir := range g.dirs {
		if dir != g.v2Dir() {
			list = append(list, path.Join(dir, "tasks"))
		}
	}
	return list
}

// v2Dir is the directory of version 2, of which there is at most one, or "".
func (g *Group) v2Dir() string { return g.parts[unified] }

// Open opens the group of version 2, for a process to be started in it
// (CLONE_INTO_CGROUP); nil where there is none, or none that it could be started
// in.
func (g *Group) Open() (*os.File, error) {
	if g.v2Dir() == "" || g.distant {
		return nil, nil
	}
	return os.Open(g.v2Dir())
}

// Add moves a process that could not be started in it into the group of version
// 2.
func (g *Group) Add(pid int) error {
	if g.v2Dir() == "" {
		return nil
	}
	if err := writeFile(path.Join(g.v2Dir(), procs), strconv.Itoa(pid)); err != nil {
		return fmt.Errorf("move process %d: %w", pid, err)
	}
	return nil
}

// Patience is how long the members' death and the removal of the directories
// may take, each.
const Patience = 5 * time.Second

// Delete removes the group. Its members must be dead; the kernel may take a
// moment to see it, and is asked again until the time is over.
func (g *Group) Delete(within time.Duration) error {
	end := time.Now().Add(within)
	var errs []error
	for _, dir := range slices.Backward(g.dirs) {
		errs = append(errs, removeDir(dir, end))
	}
	return errors.Join(errs...)
}

func removeDir(dir string, end time.Time) error {
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, 10*time.Millisecond) {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			return fmt.Errorf("remove the control group %s: %w", dir, err)
		}
		time.Sleep(pause)
	}
}

// Limits says in words which limits the group holds and by what; empty where it
// holds none.
func (g *Group) Limits() string {
	var held policy.Limits
	if g.parts[memory] != "" {
		held.Memory = g.limits.Memory
	}
	if g.parts[pids] != "" {
		held.Processes = g.limits.ProcessLimit()
	}
	if g.parts[cpu] != "" {
		held.CPUs = g.limits.CPUs
	}
	if held == (policy.Limits{}) {
		return ""
	}
	return g.rung() + ": " + held.String()
}

const userScope = "systemd user scope"

// rung names where the limits are held.
func (g *Group) rung() string {
	if g.distant {
		return userScope
	}
	if g.v2[pids] || g.v2[memory] || g.v2[cpu] {
		return "delegated control group v2"
	}
	return "control groups v1"
}

// Why says why not even the default process limit is held; nil where a process
// limit is.
func (g *Group) Why() error { return g.why }
