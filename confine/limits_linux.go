package confine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// entrances opens what the command enters its control groups by.
func (p *Plan) entrances(g Group) ([]Slot, error) {
	var slots []Slot
	for _, name := range g.Entrances {
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("open a control group: %w", err)
		}
		slots = append(slots, p.own(file))
	}
	return slots, nil
}

// LimitError says that a limit cannot be set as it was asked.
type LimitError struct {
	Limit string // such as "4096 open files"
	Hard  uint64 // what this process may have itself
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%s: this process itself may have no more than %d", e.Limit, e.Hard)
}

// Unwrap returns what the kernel would answer.
func (e *LimitError) Unwrap() error { return unix.EPERM }

// checkLimits refuses what the hard limits of this process, which the command
// inherits, do not let it set: only who may go beyond them could.
func checkLimits(l policy.Limits) error {
	for _, asked := range []struct {
		resource int
		limit    uint64
		text     string
	}{
		{unix.RLIMIT_NOFILE, uint64(l.OpenFiles), policy.Limits{OpenFiles: l.OpenFiles}.String()},
		{unix.RLIMIT_FSIZE, uint64(l.FileSize), policy.Limits{FileSize: l.FileSize}.String()},
	} {
		var own unix.Rlimit
		if err := unix.Getrlimit(asked.resource, &own); err != nil {
			return fmt.Errorf("read a limit of this process: %w", err)
		}
		if asked.limit > own.Max {
			return &LimitError{Limit: asked.text, Hard: own.Max}
		}
	}
	return nil
}
