package keeper

import (
	"fmt"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// LimitsStage is the stage of a HelperError for a limit that cannot be held.
const LimitsStage = "limits"

// groupState is what events tell of a run's control group.
type groupState struct {
	// Limits, Tree and Why are of the group's making: which limits it holds and by
	// what, by what all members are killed, and why there is no process limit.
	Limits string `json:"limits,omitempty"`
	Tree   string `json:"tree,omitempty"`
	Why    string `json:"why,omitempty"`
	// Guarded says that all members die also when the keeper is killed.
	Guarded bool `json:"guarded,omitempty"`
	// Entrances are the files by which the command enters it.
	Entrances []string `json:"entrances,omitempty"`
	// Refused is why what was asked cannot be held; there is no group then.
	Refused string        `json:"refused,omitempty"`
	Errno   syscall.Errno `json:"errno,omitempty"`
	// Usage and Reached are of the run's end, Left of the group's removal: what
	// went wrong with it.
	Usage   fact.Usage   `json:"usage"`
	Reached []fact.Limit `json:"reached,omitempty"`
	Left    string       `json:"left,omitempty"`
}

// tooTight says which limit kept the helper from becoming the command, or "".
func (g *groupState) tooTight() string {
	if g == nil {
		return ""
	}
	for _, l := range g.Reached {
		switch l.Kind {
		case fact.LimitMemory:
			return fmt.Sprintf("a memory limit of %s is too small to start a command in", policy.Size(l.Value))
		case fact.LimitProcesses:
			return fmt.Sprintf("a limit of %d processes is too small to start a command in", l.Value)
		}
	}
	return ""
}

// notJoined says why the helper is not in its group.
func (g *groupState) notJoined() string {
	detail := "the helper could not be put into its control group"
	if g != nil && g.Refused != "" {
		detail += ": " + g.Refused
	}
	return detail
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
