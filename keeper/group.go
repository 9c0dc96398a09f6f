package keeper

import (
	"fmt"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// groupState is what events tell of a run's control group.
type groupState struct {
	// Limits, Tree and Why are of the group's making: which limits it holds and by
	// what, by what all members are killed, and why there is no process limit.
	Limits string `json:"limits,omitempty"`
	Tree   string `json:"tree,omitempty"`
	Why    string `json:"why,omitempty"`
	// Guarded says that all members die also when the keeper is killed.
	Guarded bool `json:"guarded,omitempty"`
	// Entrances are the files by which the command enters it; a path may hold bytes
	// that JSON has no string for.
	Entrances [][]byte `json:"entrances,omitempty"`
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

// maxText bounds a text of an event, in bytes: several of them and the group's
// paths have room in one message.
const maxText = 512

// cut is a text that has room in an event. What is too long loses its middle:
// errors begin with what was done and end with why it failed.
func cut(text string) string {
	const gap = " … "
	text = strings.ToValidUTF8(text, "?")
	if len(text) <= maxText {
		return text
	}
	head, tail := text[:maxText/2-len(gap)], text[len(text)-maxText/2:]
	for !utf8.ValidString(head) {
		head = head[:len(head)-1]
	}
	for !utf8.ValidString(tail) {
		tail = tail[1:]
	}
	return head + gap + tail
}

// tooLong says what stands for an event that had no room in a message.
const tooLong = "what the keeper had to tell was too long for a message"

// least is an event of the same kind that says the least: that has room always.
func least(e event) event {
	e.Path = nil
	switch {
	case e.Group == nil:
	case e.Kind == grouped:
		e.Group = &groupState{Refused: tooLong, Errno: syscall.EMSGSIZE}
	default:
		e.Group = &groupState{Usage: e.Group.Usage, Reached: e.Group.Reached}
	}
	if e.Broker != "" {
		e.Broker = tooLong
	}
	return e
}
