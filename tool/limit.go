package tool

import (
	"fmt"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// LimitsReached is a line for each limit that a command reached. A limit of a
// kind that it does not know has none.
func LimitsReached(limits []fact.Limit) []string {
	var lines []string
	for _, l := range limits {
		switch l.Kind {
		case fact.LimitMemory:
			lines = append(lines, fmt.Sprintf("[sandbox: memory limit of %s reached]", policy.Size(l.Value)))
		case fact.LimitProcesses:
			lines = append(lines, fmt.Sprintf("[sandbox: process limit of %d reached]", l.Value))
		}
	}
	return lines
}
