package confine

import (
	"fmt"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// report says what a plan holds. A row is enforced only if every part of its
// promise is: signals that Landlock stops do not make up for priorities that
// nothing stops.
func report(p policy.Policy, kernel landlock.Kernel) fact.Report {
	r := fact.Report{Mode: p.Mode}
	if p.Mode.Confines() {
		r.Landlock = kernel.String()
	}
	for _, promise := range policy.Promises() {
		status, detail := hold(promise, p, kernel)
		r.Rows = append(r.Rows, fact.Row{Promise: promise, Status: status, Detail: detail})
	}
	if p.Mode.Confines() {
		r.Enforcement = sum(r)
	}
	return r
}

func sum(r fact.Report) fact.Enforcement {
	if len(r.Missing()) > 0 {
		return fact.Partial
	}
	return fact.Full
}

// hold is the promise table as far as it is held.
func hold(promise policy.Promise, p policy.Policy, k landlock.Kernel) (fact.Status, string) {
	switch promise {
	case policy.Tree:
		return fact.NotEnforced, "the process group is killed; a process that leaves the group survives, and when the caller itself is killed only the shell dies"
	case policy.Limits:
		return fact.NotEnforced, "no control group; not even a process limit is set"
	}
	if !p.Mode.Confines() {
		return fact.NotAsked, ""
	}
	by := fmt.Sprintf("Landlock ABI %d", k.ABI)
	switch promise {
	case policy.Files:
		return fact.Enforced, by
	case policy.Isolation:
		return isolation(by, p, k)
	case policy.Truncate:
		return truncate(by, k)
	}
	return fact.NotEnforced, missing[promise]
}

func truncate(by string, k landlock.Kernel) (fact.Status, string) {
	if landlock.HandledFS(k.ABI).Has(landlock.Truncate) {
		return fact.Enforced, by
	}
	return fact.NotEnforced, by + " does not govern it; 3 or newer does"
}

// isolation depends on device ioctls: a file opened for neither reading nor
// writing needs no right, and below ABI 5 a terminal can be controlled through it.
func isolation(by string, p policy.Policy, k landlock.Kernel) (fact.Status, string) {
	if !landlock.HandledFS(k.ABI).Has(landlock.IoctlDevice) {
		return fact.NotEnforced, by + " does not govern ioctls on terminals; 5 or newer does"
	}
	return fact.Enforced, "helper, " + by + isolationNote(p)
}

// isolationNote names what the caller opened.
func isolationNote(p policy.Policy) string {
	note := ""
	if p.Terminals == policy.TerminalsHost {
		note += "; opened, as asked: the host's terminals"
	}
	if len(p.Devices) > 0 {
		note += "; opened, as asked: " + strings.Join(p.Devices, " ")
	}
	return note
}

// missing says why a promise is not held.
var missing = map[policy.Promise]string{
	policy.Ioctl:         "devices are held by Landlock from ABI 5 on; ioctls on files and directories are not filtered",
	policy.Metadata:      "Landlock does not govern mode, owner, times and attributes",
	policy.SetID:         "no program gains privileges, but set-id bits can be put on files",
	policy.Processes:     "direct access is held by Landlock; limits of other processes, and through core dumps and SysV shared memory their content, are not",
	policy.Signals:       "signals are held by Landlock from ABI 6 on; priorities and affinity are not",
	policy.UnixSockets:   "abstract names are held by Landlock from ABI 6 on; pathname sockets are not",
	policy.UnixDatagrams: "no system call filter",
	policy.Network:       "no system call filter",
	policy.Kernel:        "no system call filter: among it SysV and POSIX message queues can be reached",
}
