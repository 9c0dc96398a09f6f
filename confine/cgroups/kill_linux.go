package cgroups

import (
	"errors"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrAlive says that members of a group outlived being killed.
var ErrAlive = errors.New("members of the control group could not be killed")

// Tree says by what all members are killed, none of which can have got away;
// empty where the group has no directory.
func (g *Group) Tree() string {
	if len(g.dirs) == 0 {
		return ""
	}
	if g.distant {
		return userScope + ", " + g.way()
	}
	return g.way()
}

func (g *Group) way() string {
	switch {
	case g.killFile() != "":
		return "cgroup.kill"
	case g.parts[freezer] != "":
		return "freezer"
	}
	return "signals to every member"
}

// killFile is the file whose writing kills every member (Linux 5.14), or "".
func (g *Group) killFile() string {
	if g.parts[unified] == "" {
		return ""
	}
	file := path.Join(g.parts[unified], "cgroup.kill")
	if _, err := os.Lstat(file); err != nil {
		return ""
	}
	return file
}

// Kill kills every member until none is left, and returns how many there were.
// The error is ErrAlive where some live on when the time is over.
func (g *Group) Kill(within time.Duration) (killed int, err error) {
	seen := map[int]bool{}
	pause := 50 * time.Microsecond
	for end := time.Now().Add(within); ; pause = min(2*pause, 10*time.Millisecond) {
		members, err := g.members()
		if err != nil || len(members) == 0 {
			return len(seen), err
		}
		for _, pid := range members {
			seen[pid] = true
		}
		if time.Now().After(end) {
			return len(seen), ErrAlive
		}
		g.Strike()
		time.Sleep(pause)
	}
}

// Strike kills every member that there is, without waiting for their death.
// While that goes on they start no others: the kernel sees to it where it has
// cgroup.kill, else they are frozen or out of processes.
func (g *Group) Strike() {
	if len(g.dirs) == 0 {
		return
	}
	g.refused()
	g.mu.Lock()
	g.struck = true
	g.mu.Unlock()
	g.write(pids, "pids.max", "0")
	if file := g.killFile(); file != "" && writeFile(file, "1") == nil {
		// It signals threads: of a process whose first one has ended that one, which
		// ends nothing (kernel/cgroup/cgroup.c, __cgroup_kill).
		g.Signal(syscall.SIGKILL, nil)
		return
	}
	g.write(freezer, "freezer.state", "FROZEN")
	g.Signal(syscall.SIGKILL, nil)
	g.write(freezer, "freezer.state", "THAWED") // what is frozen does not die
}

// write is for what is seen by its effect.
func (g *Group) write(c controller, file, text string) {
	if dir := g.parts[c]; dir != "" {
		_ = writeFile(path.Join(dir, file), text)
	}
}

// pins is how many members are pinned at a time: this process may have few
// descriptors left.
const pins = 64

// Signal sends a signal to every member but those that skip names.
func (g *Group) Signal(sig syscall.Signal, skip func(pid int) bool) {
	members, err := g.members()
	if err != nil {
		return // the end will tell
	}
	if skip != nil {
		members = slices.DeleteFunc(members, skip)
	}
	for batch := range slices.Chunk(members, pins) {
		g.signal(sig, batch)
	}
}

// signal sends to some members. A member's number may be another process's by the
// time that it is read: only a process that is listed again after it was pinned
// gets the signal.
func (g *Group) signal(sig syscall.Signal, some []int) {
	pinned := map[int]int{}
	for _, pid := range some {
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			pinned[pid] = fd
			defer unix.Close(fd)
		}
	}
	members, _ := g.members() // of an error the end will tell
	for _, pid := range members {
		if fd, ours := pinned[pid]; ours {
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
	}
}

// members lists the living members that this process can see.
func (g *Group) members() ([]int, error) {
	if len(g.dirs) == 0 {
		return nil, nil
	}
	text, err := readFile(path.Join(g.dirs[0], procs))
	if os.IsNotExist(err) || errors.Is(err, unix.ENODEV) {
		return nil, nil // removed
	}
	var list []int
	for _, field := range strings.Fields(text) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 0 { // 0 is of another pid namespace
			list = append(list, pid)
		}
	}
	return list, err
}
