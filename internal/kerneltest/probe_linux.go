package kerneltest

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// LandlockABI returns the ABI the kernel reports, after creating one ruleset:
// a filter around us may let the question through and refuse the act.
func LandlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("landlock_create_ruleset(NULL, 0, VERSION): %w", errno)
	}
	// The first field alone is the whole structure of ABI 1, which every later
	// kernel accepts.
	handled := uint64(unix.LANDLOCK_ACCESS_FS_EXECUTE)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET,
		uintptr(unsafe.Pointer(&handled)), unsafe.Sizeof(handled), 0)
	if errno != 0 {
		return 0, fmt.Errorf("landlock_create_ruleset: %w", errno)
	}
	return int(abi), unix.Close(int(fd))
}

// lackLandlock returns nil where the kernel itself says so; a filter around us can
// say the same.
func lackLandlock() error {
	abi, err := LandlockABI()
	switch {
	case err == nil:
		return fmt.Errorf("this kernel has Landlock ABI %d", abi)
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EOPNOTSUPP):
		return nil
	}
	return err
}

// openTerminal makes a pseudo-terminal and opens its other side by name.
func openTerminal() error {
	const how = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
	ptmx, err := unix.Open("/dev/ptmx", how, 0)
	if err != nil {
		return fmt.Errorf("open /dev/ptmx: %w", err)
	}
	defer unix.Close(ptmx)
	number, err := unix.IoctlGetInt(ptmx, unix.TIOCGPTN)
	if err != nil {
		return fmt.Errorf("ioctl TIOCGPTN: %w", err)
	}
	if err := unix.IoctlSetPointerInt(ptmx, unix.TIOCSPTLCK, 0); err != nil {
		return fmt.Errorf("ioctl TIOCSPTLCK: %w", err)
	}
	name := fmt.Sprintf("/dev/pts/%d", number)
	pts, err := unix.Open(name, how, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	return unix.Close(pts)
}

// askListener names no program, which the kernel finds out after it has looked at
// the flags. That another listener is there already shows only later.
func askListener() error {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, 0)
	if errno != unix.EFAULT {
		return fmt.Errorf("seccomp(SECCOMP_SET_MODE_FILTER, %#x, NULL): got %w, wanted EFAULT", flags, errno)
	}
	return nil
}

func openDevice(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return unix.Close(fd)
}

// setUserXattr sets one on a new file.
func setUserXattr() error {
	file, err := os.CreateTemp("", "kerneltest")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := unix.Fsetxattr(int(file.Fd()), "user.kerneltest", []byte("1"), 0); err != nil {
		return fmt.Errorf("fsetxattr %s: %w", file.Name(), err)
	}
	return nil
}

// markRange asks for a range that no process has.
func markRange() error {
	if err := unix.CloseRange(1<<31, 1<<32-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close_range CLOEXEC: %w", err)
	}
	return nil
}
