package keeper

import (
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// The protocol: JSON messages on a SEQPACKET socket, one a packet. A spawn
// request carries descriptors: the plan's payload, the plan's files, and where
// the filter asks a broker the writable roots. A group request may come before
// the spawn of the same run.

// request goes to the keeper.
type request struct {
	Run uint64 `json:"run"`
	Op  op     `json:"op"`
	// Helper is the program that a spawn starts.
	Helper string `json:"helper,omitempty"`
	// Asks says that the plan's filter asks a broker, Roots how many of the
	// descriptors are its roots, and Private how many of those, the last, are the
	// run's own.
	Asks    bool `json:"asks,omitempty"`
	Roots   int  `json:"roots,omitempty"`
	Private int  `json:"private,omitempty"`
	// Signal is what a signal request sends to the run's process group.
	Signal syscall.Signal `json:"signal,omitempty"`
	// Limits is what a group request asks for.
	Limits *policy.Limits `json:"limits,omitempty"`
}

type op string

const (
	opSpawn  op = "spawn"
	opSignal op = "signal"
	opGroup  op = "group"  // make the run's control group, before its spawn
	opForget op = "forget" // there will be no spawn
)

// event comes from the keeper. Every group request gets one grouped, before
// anything else of its run. Every spawn gets either one failed, or one started,
// then a refused for each fact of its broker, and then one exited.
type event struct {
	Run  uint64    `json:"run"`
	Kind eventKind `json:"kind"`
	// Step is the index of the plan's step that failed, or one of the negative
	// numbers below.
	Step  int           `json:"step,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"`
	PID   int           `json:"pid,omitempty"`
	// Status is the wait status of a command that exited.
	Status syscall.WaitStatus `json:"status,omitempty"`
	// Leftover counts what was killed at the end besides the command itself;
	// Survived says that not all of it could be, or that it is not known.
	Leftover int  `json:"leftover,omitempty"`
	Survived bool `json:"survived,omitempty"`
	// Fact is what the broker refused, and Path its path: a path may hold bytes
	// that JSON has no string for.
	Fact *fact.Denial `json:"fact,omitempty"`
	Path []byte       `json:"path,omitempty"`
	// Dropped counts the refusals that were too many to be told, and Broker says
	// why the broker ended before the command did.
	Dropped int    `json:"dropped,omitempty"`
	Broker  string `json:"broker,omitempty"`
	// Group is about the run's control group, at each of its events.
	Group *groupState `json:"group,omitempty"`
}

type eventKind string

const (
	started eventKind = "started"
	failed  eventKind = "failed"
	refused eventKind = "refused"
	exited  eventKind = "exited"
	grouped eventKind = "grouped" // the answer to a group request
)

// What failed where no step of the plan did.
const (
	stepPlan     = -1 // the helper could not read its plan
	stepSpawn    = -2 // no helper could be started
	stepNoAnswer = -3 // the helper ended without an answer
	stepGroup    = -4 // the helper could not be put into the control group
	stepBroker   = -5 // no broker could be started
)
