package integration

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const secret = "integration-secret"

// holder is a victim: it holds a secret in its environment, its memory, and
// an open file that has no name any more. It prints where, and waits for the
// end of its input.
func holder([]string) int {
	// Where Yama is on, this says that anybody of this user may trace it.
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0)
	memory := []byte(secret)
	file, err := os.CreateTemp("", "holder")
	if err != nil {
		return 1
	}
	_ = os.Remove(file.Name())
	if _, err := file.WriteString(secret); err != nil {
		return 1
	}
	fmt.Println(os.Getpid(), uintptr(unsafe.Pointer(&memory[0])), file.Fd())
	var one [1]byte
	_, _ = os.Stdin.Read(one[:])
	runtime.KeepAlive(memory)
	return 0
}

// prober tries to reach another process and prints, for each way, "NAME got
// TEXT" or "NAME ERRNO".
//
//	as-prober PID ADDRESS DESCRIPTOR
func prober(args []string) int {
	runtime.LockOSThread() // ptrace belongs to a thread
	pid, address, fd := number(args[0]), number(args[1]), number(args[2])
	proc := "/proc/" + args[0] + "/"
	for _, way := range []struct {
		name string
		try  func() (string, error)
	}{
		{"environ", func() (string, error) { return readSome(proc+"environ", 0, 1<<16) }},
		{"mem", func() (string, error) { return readSome(proc+"mem", int64(address), len(secret)) }},
		{"auxv", func() (string, error) { return readSome(proc+"auxv", 0, 16) }},
		{"maps", func() (string, error) { return readSome(proc+"maps", 0, 16) }},
		{"fd", func() (string, error) { return readSome(proc+"fd/"+args[2], 0, len(secret)) }},
		{"fd list", func() (string, error) { return os.Readlink(proc + "fd/" + args[2]) }},
		{"cwd", func() (string, error) { return os.Readlink(proc + "cwd") }},
		{"root", func() (string, error) { return readSome(proc+"root/proc/version", 0, 8) }},
		{"process_vm_readv", func() (string, error) { return peek(pid, uintptr(address)) }},
		{"pidfd_getfd", func() (string, error) { return takeFD(pid, fd) }},
		{"ptrace", func() (string, error) { return "", unix.PtraceSeize(pid) }},
	} {
		text, err := way.try()
		var errno unix.Errno
		switch {
		case err == nil:
			fmt.Printf("%s got %q\n", way.name, text)
		case errors.As(err, &errno):
			fmt.Println(way.name, unix.ErrnoName(errno))
		default:
			fmt.Println(way.name, err)
		}
	}
	return 0
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	return n
}

func readSome(path string, offset int64, most int) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if offset > 0 {
		if _, err := f.Seek(offset, 0); err != nil {
			return "", err
		}
	}
	buffer := make([]byte, most)
	n, err := f.Read(buffer)
	return strings.TrimRight(string(buffer[:n]), "\x00"), err
}

func peek(pid int, address uintptr) (string, error) {
	buffer := make([]byte, len(secret))
	local := []unix.Iovec{{Base: &buffer[0]}}
	local[0].SetLen(len(buffer))
	remote := []unix.RemoteIovec{{Base: address, Len: len(buffer)}}
	n, err := unix.ProcessVMReadv(pid, local, remote, 0)
	return string(buffer[:max(n, 0)]), err
}

func takeFD(pid, fd int) (string, error) {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return "", err
	}
	taken, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return "", err
	}
	buffer := make([]byte, len(secret))
	n, err := unix.Pread(taken, buffer, 0)
	return string(buffer[:max(n, 0)]), err
}

// capabilityMask reads one of the masks of /proc/self/status.
func capabilityMask(status, name string) (uint64, error) {
	for line := range strings.Lines(status) {
		if value, found := strings.CutPrefix(line, name+":"); found {
			return strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		}
	}
	return 0, fmt.Errorf("no %s in %q", name, status)
}
