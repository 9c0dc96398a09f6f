package broker

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Available says why no broker can work here, nil where one can. It asks the
// kernel and starts nothing. A filter around this process may have a listener
// already; that shows only when another is asked for (EBUSY).
func Available() error {
	self, err := os.Readlink("/proc/self")
	if err == nil && self != strconv.Itoa(os.Getpid()) {
		err = errors.New("it is of another pid namespace")
	}
	if err != nil {
		return fmt.Errorf("callers cannot be told by /proc: %w", err)
	}
	// The kernel looks at the flags before it looks at the program.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	if errno == unix.EINVAL {
		return fmt.Errorf("the kernel has no listener that signals leave alone (Linux 5.19): %w", errno)
	}
	return canWalk() // where filters are refused altogether, installing one tells
}

// canWalk tries the call that paths are walked with: an older container's filter
// may refuse it.
func canWalk() error {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return fmt.Errorf("walk paths with openat2: %w", err)
	}
	return unix.Close(fd)
}
