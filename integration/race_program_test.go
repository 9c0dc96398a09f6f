package integration

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// asking comes under the product's filter, sends its listener over descriptor 3,
// and becomes another program of this binary.
//
//	as-asking PROGRAM ARGUMENT...
func asking(args []string) int {
	runtime.LockOSThread()
	err := askingFilter()
	if err == nil {
		err = unix.Exec("/proc/self/exe", append([]string{os.Args[0]}, args...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// racer changes modes while another thread of it changes what the call names. It
// runs in a directory with "in", which it may change, and "on", which it may not;
// each has a file "f".
//
//	as-racer RACE TRIES
//
// It prints "lost N" when the Nth call changed the file outside, else "held N
// DONE REFUSED".
func racer(args []string) int {
	if err := race(args[0], number(args[1])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// caller makes a call for every path on standard input, all at once, and prints
// each path with the errno.
func caller([]string) int {
	paths := bufio.NewScanner(os.Stdin)
	for paths.Scan() {
		path := append([]byte(paths.Text()), 0)
		go func() { fmt.Printf("%s %d\n", path[:len(path)-1], raceChmod(path)) }()
	}
	return 0
}

const askingSocket = 3

// askingFilter comes under the product's filter and sends its listener.
func askingFilter() error {
	variant := seccomp.Choose(policy.Policy{Mode: policy.WorkspaceWrite}, seccomp.Options{ABI: 9, Metadata: seccomp.Ask})
	program, err := seccomp.Program(variant)
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	size := int(unsafe.Sizeof(unix.SockFilter{}))
	prog := unix.SockFprog{Len: uint16(len(program) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	listener, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	if err := unix.Sendmsg(askingSocket, []byte{1}, unix.UnixRights(int(listener)), nil, 0); err != nil {
		return err
	}
	unix.CloseOnExec(askingSocket)
	return nil
}

// racing is a call, and what another thread does all the while.
type racing struct {
	call      func() syscall.Errno
	interfere func() error
}

var races = map[string]func() (racing, error){
	"exchange a directory and a symlink": raceExchange,
	"rewrite the path":                   raceRewrite,
	"change the directory":               raceDirectory,
	"replace the root":                   raceRoot,
	"replace the descriptor":             raceDescriptor,
}

// outsideMode is the mode of the file outside until a race is lost.
const outsideMode = 0o644

func race(name string, tries int) error {
	outside, err := os.Open("on/f")
	if err != nil {
		return err
	}
	r, err := races[name]()
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		for {
			if err := r.interfere(); err != nil {
				failed <- err
				return
			}
		}
	}()
	done, refused := 0, 0
	for i := 1; i <= tries; i++ {
		switch errno := r.call(); errno {
		case 0:
			done++
		case unix.EACCES:
			refused++
		}
		var stat unix.Stat_t
		if err := unix.Fstat(int(outside.Fd()), &stat); err != nil || stat.Mode&0o777 != outsideMode {
			fmt.Println("lost", i)
			return err
		}
		if len(failed) > 0 {
			return <-failed
		}
	}
	fmt.Println("held", tries, done, refused)
	return nil
}

// raceChmod makes the call with the path at that place in memory.
func raceChmod(path []byte) syscall.Errno {
	const cwd = ^uintptr(99) // AT_FDCWD
	_, _, errno := unix.Syscall(unix.SYS_FCHMODAT, cwd, uintptr(unsafe.Pointer(&path[0])), 0o600)
	return errno
}

func raceExchange() (racing, error) {
	err := os.Mkdir("in/d", 0o755)
	if err == nil {
		err = os.WriteFile("in/d/f", nil, 0o644)
	}
	if err == nil {
		err = os.Symlink("../on", "in/l")
	}
	path := []byte("in/d/f\x00")
	return racing{
		func() syscall.Errno { return raceChmod(path) },
		func() error {
			return unix.Renameat2(unix.AT_FDCWD, "in/d", unix.AT_FDCWD, "in/l", unix.RENAME_EXCHANGE)
		},
	}, err
}

func raceRewrite() (racing, error) {
	path := []byte("in/f\x00")
	return racing{
		func() syscall.Errno { return raceChmod(path) },
		func() error {
			path[0] ^= 'i' ^ 'o'
			return nil
		},
	}, nil
}

func raceDirectory() (racing, error) {
	path := []byte("f\x00")
	in, err := filepath.Abs("in")
	return racing{
		func() syscall.Errno { return raceChmod(path) },
		func() error {
			if err := unix.Chdir(in); err != nil {
				return err
			}
			return unix.Chdir("../on")
		},
	}, err
}

func raceRoot() (racing, error) {
	path := []byte("in/f\x00")
	return racing{
		func() syscall.Errno { return raceChmod(path) },
		func() error { return unix.Renameat2(unix.AT_FDCWD, "in", unix.AT_FDCWD, "on", unix.RENAME_EXCHANGE) },
	}, nil
}

func raceDescriptor() (racing, error) {
	in, err := unix.Open("in/f", unix.O_RDONLY, 0)
	if err != nil {
		return racing{}, err
	}
	on, err := unix.Open("on/f", unix.O_RDONLY, 0)
	const shared = 100
	return racing{
		func() syscall.Errno {
			_, _, errno := unix.Syscall(unix.SYS_FCHMOD, shared, 0o600, 0)
			return errno
		},
		func() error {
			if err := unix.Dup3(in, shared, 0); err != nil {
				return err
			}
			return unix.Dup3(on, shared, 0)
		},
	}, err
}
