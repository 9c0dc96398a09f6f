package confine

import (
	"fmt"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// report says what a plan holds. A row is enforced only if every part of its
// promise is.
func report(h holder, kernel landlock.Kernel) fact.Report {
	h.abi = kernel.ABI
	p := h.job.Policy
	r := fact.Report{Mode: p.Mode}
	if p.Mode.Confines() {
		r.Landlock = kernel.String()
	}
	for _, promise := range policy.Promises() {
		status, detail := h.hold(promise)
		row := fact.Row{Promise: promise, Status: status, Detail: detail}
		if status == fact.NotEnforced {
			row.Hint = h.hint(promise)
		}
		r.Rows = append(r.Rows, row)
	}
	if p.Mode.Confines() {
		r.Enforcement = sum(r)
	}
	return r
}

// hints say what helps where a promise is not enforced.
var hints = map[policy.Promise]string{
	policy.PromiseUnixSockets: "it is closed while the network is denied",
	policy.PromiseIoctl:       "use Linux 6.10 or newer, which has Landlock ABI 5",
	policy.PromiseIsolation:   "use Linux 6.10 or newer, which has Landlock ABI 5",
}

func (h holder) hint(promise policy.Promise) string {
	if promise == policy.PromiseMetadata {
		return h.metadata.hint
	}
	return hints[promise]
}

func sum(r fact.Report) fact.Enforcement {
	if len(r.Missing()) > 0 {
		return fact.Partial
	}
	return fact.Full
}

// holder answers for each promise of one run.
type holder struct {
	job      Job
	abi      int
	metadata metadata
	// coreSocket says that the kernel sends core dumps to a server, which no limit
	// keeps it from (Linux 6.16).
	coreSocket bool
}

// hold is the promise table.
func (h holder) hold(promise policy.Promise) (fact.Status, string) {
	switch promise {
	case policy.PromiseTree:
		return h.tree()
	case policy.PromiseLimits:
		return h.limits()
	}
	if !h.job.Policy.Mode.Confines() {
		return fact.NotAsked, ""
	}
	row := map[policy.Promise]func() (fact.Status, string){
		policy.PromiseFiles:         h.files,
		policy.PromiseTruncate:      h.truncate,
		policy.PromiseIoctl:         h.ioctl,
		policy.PromiseMetadata:      func() (fact.Status, string) { return h.metadata.status, h.metadata.detail },
		policy.PromiseSetID:         h.setID,
		policy.PromiseProcesses:     h.processes,
		policy.PromiseSignals:       h.signals,
		policy.PromiseUnixSockets:   h.unixSockets,
		policy.PromiseUnixDatagrams: h.byFilter,
		policy.PromiseNetwork:       h.network,
		policy.PromiseKernel:        h.byFilter,
		policy.PromiseIsolation:     h.isolation,
	}[promise]
	return row()
}

func (h holder) landlock() string { return fmt.Sprintf("Landlock ABI %d", h.abi) }

func (h holder) byLandlock() (fact.Status, string) { return fact.Enforced, h.landlock() }

// files names what was opened besides the roots.
func (h holder) files() (fact.Status, string) {
	var opened []string
	if h.job.Policy.Temp == policy.TempHost {
		opened = append(opened, "/tmp")
	}
	if h.job.Policy.IPC == policy.IPCHost {
		opened = append(opened, "/dev/shm")
	}
	return fact.Enforced, h.landlock() + asAsked(opened)
}

// asAsked is the part of a detail that names what the caller opened.
func asAsked(opened []string) string {
	if len(opened) == 0 {
		return ""
	}
	return "; opened, as asked: " + strings.Join(opened, ", ")
}

func (h holder) byFilter() (fact.Status, string) { return fact.Enforced, "filter" }

func (h holder) handles(right landlock.Access) bool { return landlock.HandledFS(h.abi).Has(right) }

func (h holder) truncate() (fact.Status, string) {
	if h.handles(landlock.Truncate) {
		return h.byLandlock()
	}
	return fact.Closed, "filter: truncate(2) and openat2(2) are refused everywhere"
}

func (h holder) ioctl() (fact.Status, string) {
	if !h.handles(landlock.IoctlDevice) {
		return fact.NotEnforced, "file systems' are held by the filter; " + h.landlock() + " does not govern devices', 5 or newer does"
	}
	return fact.Enforced, "filter, " + h.landlock()
}

// setID needs nothing against file capabilities: they take CAP_SETFCAP, which no
// command keeps.
func (h holder) setID() (fact.Status, string) {
	if h.metadata.handling == seccomp.Ask {
		return fact.Enforced, "filter, broker, no_new_privs"
	}
	return fact.Enforced, "filter, no_new_privs"
}

func (h holder) processes() (fact.Status, string) {
	var opened []string
	if h.job.Policy.IPC == policy.IPCHost {
		opened = []string{"the host's System V IPC", "message queues", "/dev/shm"}
	}
	return fact.Enforced, h.landlock() + ", filter" + asAsked(opened)
}

func (h holder) signals() (fact.Status, string) {
	const rest = "priorities, limits and affinity of other processes, own children among them, cannot be changed"
	if h.abi >= 6 {
		return fact.Closed, "signals: " + h.landlock() + "; filter: " + rest
	}
	return fact.Closed, "filter: a command signals only its own process group, by number 0; " + rest
}

func (h holder) unixSockets() (fact.Status, string) {
	if h.job.Policy.Network == policy.NetworkAllow {
		return fact.NotEnforced, "with the network allowed, connect(2) is open, and the filter cannot tell where it leads"
	}
	return fact.Closed, "filter: connect(2) is refused, to the command's own servers as well"
}

func (h holder) network() (fact.Status, string) {
	if h.job.Policy.Network == policy.NetworkAllow {
		return fact.NotAsked, ""
	}
	if h.abi >= 4 {
		return fact.Enforced, "filter, " + h.landlock()
	}
	return h.byFilter()
}

// isolation depends on device ioctls: a file opened for neither reading nor
// writing needs no right, and below ABI 5 a terminal can be controlled through it.
func (h holder) isolation() (fact.Status, string) {
	if !h.handles(landlock.IoctlDevice) {
		return fact.NotEnforced, h.landlock() + " does not govern ioctls on terminals; 5 or newer does"
	}
	if h.coreSocket {
		return fact.NotEnforced, "core dumps go to a socket of the host (/proc/sys/kernel/core_pattern), whatever the limit on them"
	}
	var opened []string
	if h.job.Policy.Terminals == policy.TerminalsHost {
		opened = append(opened, "the host's terminals")
	}
	opened = append(opened, h.job.Policy.Devices...)
	return fact.Enforced, "helper, filter, " + h.landlock() + asAsked(opened)
}

func (h holder) tree() (fact.Status, string) {
	if h.job.Group.Tree != "" {
		return h.treeInGroup()
	}
	const killed = "; when the caller itself is killed, the shell gets SIGKILL, unless it has turned that off, and nothing else does"
	if h.job.Tree == nil {
		return fact.Enforced, "sub-reaper and a walk over all descendants" + killed
	}
	return fact.NotEnforced, h.job.Tree.Error() + killed
}
