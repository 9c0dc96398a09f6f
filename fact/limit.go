package fact

import "time"

// Limit is a limit that a command reached. It is not a denial: nothing was
// refused that the policy forbids.
type Limit struct {
	Kind LimitKind `json:"kind"`
	// Value is the limit: bytes of memory, or a number of processes.
	Value uint64 `json:"value"`
}

// LimitKind is what ran out.
type LimitKind string

const (
	// LimitMemory: the kernel killed a process of the command because the memory
	// of all of them had reached the limit. The command itself may have ended well.
	LimitMemory LimitKind = "memory"
	// LimitProcesses: a process or thread could not be started. Before Linux 6.1
	// that is known only of a command that was at the limit when it was killed.
	LimitProcesses LimitKind = "processes"
)

// Usage is what a command used.
type Usage struct {
	// User and System are processor time. Where Group is set it is that of every
	// process of the command; else of the command itself and those of its
	// descendants that were waited for, by it and so on down (wait4(2)): what was
	// left behind or killed at the end is missing. Both include the helper's start,
	// some milliseconds.
	User   time.Duration
	System time.Duration
	// Group says that User and System come from a control group.
	Group bool
	// Throttled is how long the command was held back by the cpu limit, added up
	// over the processors; zero where there is none.
	Throttled time.Duration
	// MaxRSS is the most memory that one of the processes behind wait4 had at a
	// time, in bytes. It is never less than the helper's, some 7 MB, because the
	// command's process was the helper before (getrusage(2), ru_maxrss).
	MaxRSS uint64
	// PeakMemory is the most that all processes together had, page cache
	// included, in bytes; zero where no control group for memory was in force, and
	// with version 2 before Linux 5.19.
	PeakMemory uint64
	// PeakProcesses is the most processes and threads there were at a time; zero
	// where it is not known.
	PeakProcesses int
}
