package integration

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// victimEffects act on something that the test watches.
var victimEffects = map[string]func(args []string) error{
	"send":      victimSend,
	"own":       victimOwnServer,
	"socket":    victimSocket,
	"chmod":     victimChmod,
	"chown":     victimChown,
	"utimensat": victimUtimensat,
	"truncate":  func(a []string) error { return unix.Truncate(a[0], 0) },
	"setxattr":  func(a []string) error { return unix.Setxattr(a[0], "user.victim", []byte("1"), 0) },
	"security":  func(a []string) error { return unix.Setxattr(a[0], "security.victim", []byte("1"), 0) },
	"mknod":     func(a []string) error { return unix.Mknod(a[0], unix.S_IFCHR|0o666, 259) },
	"setid":     victimSetID,

	"chmod-setuid": func(a []string) error { return unix.Chmod(a[0], 0o4755) },
	"chmod-setgid": func(a []string) error { return unix.Chmod(a[0], 0o2755) },
	"fchmod-setid": victimFchmodSetID,

	"drop-chmod":           victimDrop,
	"without-capabilities": victimWithoutCapabilities,
	"signalled":            victimSignalled,

	"userns":    victimUserNamespace,
	"io_uring":  victimRing,
	"tiocsti":   victimType,
	"prlimit":   victimLimit,
	"shm":       victimShared,
	"mq":        victimQueue,
	"nice":      func(a []string) error { return unix.Setpriority(unix.PRIO_PROCESS, number(a[0]), 19) },
	"setflags":  victimSetFlags,
	"subvolume": victimSubvolume,
	"int80":     victimInt80,
}

// victimDo prints "ok" or the name of the errno.
func victimDo(effect string, args []string) error {
	do, known := victimEffects[effect]
	if !known {
		return fmt.Errorf("no effect is called %q", effect)
	}
	err := do(args)
	var errno syscall.Errno
	switch {
	case err == nil:
		fmt.Println("ok")
	case errors.As(err, &errno):
		fmt.Println(unix.ErrnoName(errno))
	default:
		return err
	}
	return nil
}

func victimChmod(a []string) error { return unix.Chmod(a[0], 0o600) }

func victimChown(a []string) error { return unix.Lchown(a[0], victimNobody, victimNobody) }

func victimUtimensat(a []string) error {
	return unix.UtimesNano(a[0], []unix.Timespec{{Sec: 1}, {Sec: 1}})
}

// victimErrno makes an error of a raw call's errno.
func victimErrno(errno syscall.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// victimSend sends a byte: NETWORK ADDRESS.
func victimSend(args []string) error {
	conn, err := net.Dial(args[0], args[1])
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte("x"))
	return err
}

// victimOwnServer connects to a server of its own in TMPDIR, whose path may be
// longer than an address.
func victimOwnServer([]string) error {
	if err := os.Chdir(os.TempDir()); err != nil {
		return err
	}
	path := fmt.Sprintf("own-%d", os.Getpid())
	server, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	defer server.Close()
	return victimSend([]string{"unix", path})
}

// victimSocket makes a socket of three numbers, with all 64 bits of each.
func victimSocket(args []string) error {
	var n [3]uint64
	for i := range n {
		var err error
		if n[i], err = victimNumber(args[i]); err != nil {
			return err
		}
	}
	_, _, errno := unix.RawSyscall(unix.SYS_SOCKET, uintptr(n[0]), uintptr(n[1]), uintptr(n[2]))
	return victimErrno(errno)
}

func victimSetID(args []string) error {
	fd, err := unix.Open(args[0], unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o4755)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// victimFchmodSetID passes a mode with bits that the kernel throws away.
func victimFchmodSetID(args []string) error {
	fd, err := unix.Open(args[0], unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const high = 1<<40 | 1<<16
	_, _, errno := unix.RawSyscall(unix.SYS_FCHMOD, uintptr(fd), high|0o6755, 0)
	return victimErrno(errno)
}

func victimUserNamespace([]string) error {
	cmd := exec.Command("true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	return cmd.Run()
}

func victimRing([]string) error {
	var params [120]byte // struct io_uring_params
	_, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
	return victimErrno(errno)
}

// victimType types into a terminal that it makes its own: PATH COMMAND.
func victimType(args []string) error {
	fd, err := unix.Open(args[0], unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the terminal: %s", err) // no errno: not what is tested
	}
	_, _ = unix.Setsid()
	if err := unix.IoctlSetInt(fd, unix.TIOCSCTTY, 0); err != nil {
		return fmt.Errorf("take the terminal: %s", err)
	}
	command, err := victimNumber(args[1])
	if err != nil {
		return err
	}
	key := byte('x')
	_, _, errno := unix.RawSyscall(unix.SYS_IOCTL, uintptr(fd), uintptr(command), uintptr(unsafe.Pointer(&key)))
	return victimErrno(errno)
}

// victimLimit lowers a limit of another process: PID RESOURCE.
func victimLimit(args []string) error {
	return unix.Prlimit(number(args[0]), number(args[1]), &unix.Rlimit{Cur: 77, Max: 77}, nil)
}

// victimShared writes to a System V segment: ID.
func victimShared(args []string) error {
	memory, err := unix.SysvShmAttach(number(args[0]), 0, 0)
	if err != nil {
		return err
	}
	memory[0] = 'x'
	return unix.SysvShmDetach(memory)
}

// victimQueue sends to a message queue: NAME.
func victimQueue(args []string) error {
	fd, err := victimOpenQueue(args[0], unix.O_WRONLY|unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	message := []byte("x")
	_, _, errno := unix.Syscall6(unix.SYS_MQ_TIMEDSEND, uintptr(fd), uintptr(unsafe.Pointer(&message[0])), 1, 0, 0, 0)
	return victimErrno(errno)
}

func victimOpenQueue(name string, flags int) (int, error) {
	text, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(text)), uintptr(flags|unix.O_CLOEXEC), 0o600, 0, 0, 0)
	return int(fd), victimErrno(errno)
}

const victimNoDump = 0x40 // FS_NODUMP_FL

func victimSetFlags(args []string) error {
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, victimNoDump)
}

// victimSubvolume makes a btrfs subvolume in a directory: DIRECTORY NAME.
func victimSubvolume(args []string) error {
	const subvolCreate = 0x5000940e // BTRFS_IOC_SUBVOL_CREATE
	f, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	var vol [4096]byte // struct btrfs_ioctl_vol_args: eight bytes, then the name
	copy(vol[8:], args[1])
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), subvolCreate, uintptr(unsafe.Pointer(&vol[0])))
	return victimErrno(errno)
}

// victimInt80 changes a mode by i386's entry into the kernel: PATH MODE.
func victimInt80(args []string) error {
	mode, err := strconv.ParseUint(args[1], 8, 32)
	if err != nil {
		return err
	}
	return int80Chmod(args[0], uintptr(mode))
}
