package confine

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
)

// UnavailableError says why Landlock cannot hold any command here; its Reason
// has a hint.
type UnavailableError = landlock.UnavailableError

// StepError is what the failure of a step means, for the steps where the errno
// alone would mislead; nil for all others. A zero errno says that a call
// succeeded that had to fail.
func StepError(step string, errno unix.Errno) error {
	switch {
	case step == ProofStep && errno == 0:
		return &UnavailableError{Reason: landlock.Inert, Op: "a write that had to be refused was not"}
	case step == landlockStep && errno == unix.E2BIG:
		return fmt.Errorf("no further ruleset can be stacked: the kernel takes 16, and each sandbox around this one is one: %w", errno)
	case step == filterProofStep:
		return fmt.Errorf("the system call filter is inert: a call that had to be refused was not: %w", errno)
	case step == FilterStep:
		return fmt.Errorf("the kernel or something in front of it refuses system call filters: %w", errno)
	case step == descriptorsStep && errno == unix.EINVAL:
		return fmt.Errorf("the kernel cannot have descriptors closed at execve (close_range with CLOEXEC, Linux 5.11): %w", errno)
	case step == landlockStep:
		return landlock.Refused("restrict the command", errno)
	}
	return nil
}
