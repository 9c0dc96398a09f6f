package broker

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

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
	if err := canRead(); err != nil {
		return err
	}
	return canWalk() // where filters are refused altogether, installing one tells
}

// canRead asks Yama (Documentation/admin-guide/LSM/Yama.rst). With scope 1, which
// is common, a broker reads its descendants, and not what has left them.
func canRead() error {
	scope, err := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if err != nil {
		return nil // no Yama
	}
	status, err := readThreadStatus()
	if err != nil {
		return err
	}
	who, err := parseIdentity(status)
	if err != nil {
		return err
	}
	switch strings.TrimSpace(string(scope)) {
	case "0", "1":
		return nil
	case "2":
		if who.can(unix.CAP_SYS_PTRACE) {
			return nil
		}
	}
	return fmt.Errorf("Yama lets nobody read callers (kernel.yama.ptrace_scope is %s)", strings.TrimSpace(string(scope)))
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
