package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownTree makes this process the parent of whatever its descendants leave
// behind, so that none of them can get out of its sight: a process's parent is
// one of its ancestors until all of those are dead.
//
// A process can have children from before, of the program that it was until
// exec. What those leave behind could not be told from a command's, so the tree
// is then not owned.
func ownTree() error {
	if _, err := os.Stat("/proc/thread-self/children"); err != nil {
		return fmt.Errorf("children cannot be listed (/proc, CONFIG_PROC_CHILDREN): %w", err)
	}
	if err := ownProc(); err != nil {
		return err
	}
	children, err := childrenOf(os.Getpid())
	if err != nil {
		return fmt.Errorf("list the children: %w", err)
	}
	if len(children) > 0 {
		return errors.New("this process had children before")
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a sub-reaper: %w", err)
	}
	return isReaper()
}

// isReaper asks back: a filter in front of the kernel can answer a call that it
// did not let through.
func isReaper() error {
	var reaper int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&reaper)), 0, 0, 0)
	if err == nil && reaper != 1 {
		err = errors.New("the call had no effect")
	}
	if err != nil {
		return fmt.Errorf("become a sub-reaper: %w", err)
	}
	return nil
}

// ownProc checks that /proc is of this process's pid namespace: else its numbers
// are other processes'.
func ownProc() error {
	self, err := os.Readlink("/proc/self")
	if err == nil && self != strconv.Itoa(os.Getpid()) {
		err = fmt.Errorf("it calls this process %s, not %d", self, os.Getpid())
	}
	if err != nil {
		return fmt.Errorf("/proc is of another pid namespace: %w", err)
	}
	return nil
}

// treePatience is how long the death of a whole tree may take.
const treePatience = 5 * time.Second

// killTree kills every descendant of this process but some: the leader, which is
// dead and has its own way to the grave, and what is the keeper's. It returns how many there were, and an
// error where some live on.
func killTree(but ...int) (killed int, err error) {
	seen := map[int]bool{}
	for end := time.Now().Add(treePatience); time.Now().Before(end); {
		pids, err := descendants(but...)
		if err != nil || len(pids) == 0 {
			return killed, err
		}
		fresh := false
		for _, pid := range pids {
			if !seen[pid] && !zombie(pid) {
				fresh = true
				killed++
			}
			seen[pid] = true
			_ = unix.Kill(pid, unix.SIGKILL)
			reapStray(pid)
		}
		if !fresh {
			time.Sleep(time.Millisecond)
		}
	}
	return killed, ErrSurvived
}

// zombie reports whether a process is dead and waits to be reaped.
func zombie(pid int) bool {
	fields, err := statFields(uint64(pid))
	return err == nil && fields[0] == "Z"
}

// reapStray reaps a dead child; ECHILD where it is not ours, or not yet.
func reapStray(pid int) {
	_ = eintr(func() error {
		_, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
		return err
	})
}

// reapStrays reaps what has died of our own children but some. Without it
// they would pile up while a command runs, up to the machine's last number.
func reapStrays(but ...int) {
	children, err := childrenOf(os.Getpid())
	if err != nil {
		return // the end will tell
	}
	for _, pid := range children {
		if !slices.Contains(but, pid) && zombie(pid) {
			reapStray(pid)
		}
	}
}

// descendants lists the descendants of this process, without some but with
// theirs.
func descendants(but ...int) ([]int, error) {
	var found []int
	todo := []int{os.Getpid()}
	for len(todo) > 0 {
		children, err := childrenOf(todo[0])
		todo = todo[1:]
		if err != nil {
			return nil, err
		}
		todo = append(todo, children...)
		for _, pid := range children {
			if !slices.Contains(but, pid) {
				found = append(found, pid)
			}
		}
	}
	return found, nil
}

// childrenOf reads the children of each thread of a process (proc(5), needs
// CONFIG_PROC_CHILDREN). A process or thread that is gone has none.
func childrenOf(pid int) ([]int, error) {
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(tasks)
	if gone(err) && pid != os.Getpid() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var children []int
	for _, thread := range threads {
		list, err := os.ReadFile(tasks + "/" + thread.Name() + "/children")
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, field := range bytes.Fields(list) {
			if n, err := strconv.Atoi(string(field)); err == nil {
				children = append(children, n)
			}
		}
	}
	return children, nil
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH)
}

// signalStrays signals the descendants that have left the leader's group.
func signalStrays(sig unix.Signal, leader, spared int) {
	pids, err := descendants(leader, spared)
	if err != nil {
		return // the end will tell
	}
	for _, pid := range pids {
		if group, err := unix.Getpgid(pid); err == nil && group != leader {
			_ = unix.Kill(pid, sig)
		}
	}
}
