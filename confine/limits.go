package confine

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Group is what the control group of a run holds. The zero value is no group.
type Group struct {
	// Limits says which limits it holds and by what; empty where none.
	Limits string
	// Tree says by what all of its members are killed; empty where there is no
	// group.
	Tree string
	// Guarded says that they die also when the caller is killed.
	Guarded bool
	// Entrances are files of groups that the command's thread enters by writing a
	// 0 to them.
	Entrances []string
	// Why says why it holds no process limit, not even the default one.
	Why string
	// Refused says why a limit that was asked cannot be held: there is no group then,
	// and the plan is only to be looked at.
	Refused string
}

// LimitsStep is the name of the steps that enter the control groups and set the
// limits of each process, and the stage of the error where that cannot be done.
const LimitsStep = "limits"

// enter comes first: what the helper uses from there on is the command's. Of its
// threads only the one that becomes the command moves, and it moves itself.
func enter(entrances []Slot) []Step {
	step := Step{Name: LimitsStep, Why: "into the control groups, each through a file that was opened before"}
	for _, slot := range entrances {
		step.Calls = append(step.Calls, call(unix.SYS_WRITE, FD(slot), Bytes([]byte("0")), Int(1)))
	}
	if len(step.Calls) == 0 {
		return nil
	}
	return []Step{step}
}

// limits come last: a helper that may open few files could not finish its other
// steps. Soft and hard are the same, so that no program raises its own again.
func limits(l policy.Limits) []Step {
	step := Step{Name: LimitsStep, Why: "open files and file sizes, as asked"}
	if l.OpenFiles != 0 {
		step.Calls = append(step.Calls, setLimit(unix.RLIMIT_NOFILE, uint64(l.OpenFiles)))
	}
	if l.FileSize != 0 {
		step.Calls = append(step.Calls, setLimit(unix.RLIMIT_FSIZE, uint64(l.FileSize)))
	}
	if len(step.Calls) == 0 {
		return nil
	}
	return []Step{step}
}

func setLimit(resource int, limit uint64) Call {
	both := le.AppendUint64(le.AppendUint64(nil, limit), limit) // struct rlimit64
	return call(unix.SYS_PRLIMIT64, Int(0), Int(resource), Bytes(both), Int(0))
}

// limits is the row of the limits. Where none was asked, the default process
// limit is a gift: without it the row says why, and is not asked.
func (h holder) limits() (fact.Status, string) {
	if h.job.Group.Refused != "" {
		return fact.NotEnforced, h.job.Group.Refused
	}
	var held []string
	if h.job.Group.Limits != "" {
		held = append(held, h.job.Group.Limits)
	}
	if each := h.job.Policy.Limits.Each(); len(each) > 0 {
		held = append(held, "rlimits: "+strings.Join(each, ", "))
	}
	if h.job.Group.Why != "" {
		missing := "no process limit: " + h.job.Group.Why
		if len(held) == 0 {
			return fact.NotAsked, missing
		}
		held = append(held, missing)
	}
	if len(held) == 0 {
		return fact.NotAsked, ""
	}
	return fact.Enforced, strings.Join(held, "; ")
}

func (h holder) treeInGroup() (fact.Status, string) {
	by := "control group, " + h.job.Group.Tree
	if h.job.Tree == nil {
		by += "; sub-reaper"
	}
	if h.job.Group.Guarded {
		return fact.Enforced, by + "; when the caller itself is killed, all of it dies at once"
	}
	return fact.Enforced, by + "; when the caller itself is killed, the shell gets SIGKILL at once, unless it has turned that off, and the rest when the next command or executor starts"
}
