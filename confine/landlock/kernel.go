package landlock

import (
	"errors"
	"fmt"
	"syscall"
)

// Kernel is what the running kernel's Landlock can do.
type Kernel struct {
	// ABI is the version whose rights the ruleset handles, at most NewestABI.
	// It is lower than the version the kernel announces where the kernel
	// refuses a ruleset of that version.
	ABI int
	// Errata is the kernel's bit mask of fixed errata; 0 where it has none or
	// cannot say.
	Errata int
}

// String is the form that reports show.
func (k Kernel) String() string { return fmt.Sprintf("ABI %d, errata %#x", k.ABI, k.Errata) }

// Reason says why Landlock cannot be used. The three need different cures.
type Reason string

const (
	// Missing: the kernel has no Landlock, or it is off.
	Missing Reason = "missing in the kernel"
	// Blocked: the kernel has it, and something outside forbids the calls.
	Blocked Reason = "blocked from outside"
	// Inert: the calls answer, and nothing is held.
	Inert Reason = "inert"
)

// UnavailableError says that no command can be confined here.
type UnavailableError struct {
	Reason Reason
	Op     string // what failed
	// Errno is what the kernel answered; zero where it answered success.
	Errno syscall.Errno
}

func (e *UnavailableError) Error() string {
	if e.Errno == 0 {
		return fmt.Sprintf("landlock is %s: %s", e.Reason, e.Op)
	}
	return fmt.Sprintf("landlock is %s: %s: %v", e.Reason, e.Op, e.Errno)
}

// Unwrap returns the errno.
func (e *UnavailableError) Unwrap() error { return e.Errno }

// Hint says what can be done about it.
func (r Reason) Hint() string {
	switch r {
	case Missing:
		return "use Linux 5.13 or newer, built with CONFIG_SECURITY_LANDLOCK, with landlock in the lsm= list"
	case Blocked:
		return "allow landlock_create_ruleset, landlock_add_rule and landlock_restrict_self in the outer seccomp profile"
	case Inert:
		return "the kernel or something in front of it accepts rulesets without holding them; use another kernel or container runtime"
	}
	return ""
}

// surroundings is what the answer to a failed call depends on.
type surroundings struct {
	// expected: the kernel is new enough to have Landlock (5.13).
	expected bool
	// filtered: a seccomp filter lies on this process.
	filtered bool
}

// unavailable tells the three reasons apart by the errno. An errno that is none
// of theirs, such as EMFILE, stays an error of its own.
func unavailable(op string, err error, s surroundings) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("%s: %w", op, err)
	}
	reason, known := reasonOf(errno, s)
	if !known {
		return fmt.Errorf("%s: %w", op, err)
	}
	return &UnavailableError{Reason: reason, Op: op, Errno: errno}
}

// Refused is the error for a call on a ruleset that had been made: a kernel
// without Landlock would have refused that.
func Refused(op string, err error) error {
	return unavailable(op, err, surroundings{expected: true, filtered: true})
}

func reasonOf(errno syscall.Errno, s surroundings) (Reason, bool) {
	switch errno {
	case syscall.ENOSYS:
		if s.expected && s.filtered {
			return Blocked, true
		}
		return Missing, true
	case syscall.EOPNOTSUPP:
		return Missing, true
	case syscall.EPERM, syscall.EACCES:
		return Blocked, true
	case syscall.EINVAL:
		return Inert, true
	}
	return "", false
}

// stepDown asks for the newest ruleset first. The announced version can lie
// (backports answer 6 and then EINVAL), so EINVAL means: ask for less.
func stepDown(announced int, create func(abi int) (int, error)) (fd, abi int, err error) {
	err = syscall.EINVAL
	for abi = min(announced, NewestABI); abi >= 1; abi-- {
		fd, err = create(abi)
		if !errors.Is(err, syscall.EINVAL) {
			return fd, abi, err
		}
	}
	return -1, 0, err
}
