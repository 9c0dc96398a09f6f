package kerneltest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	capArg0 = "kerneltest-cap"
	askArg0 = "kerneltest-ask"
)

// UnderLandlock changes a command that was not started yet so that its program
// finds Landlock at most at that ABI. Its threads are traced, and the question
// for the version is answered in the kernel's stead; the program's children are
// not, and get ENOSYS. What a ruleset then holds is what the running kernel
// makes of one of that ABI: whoever asks for less gets less.
//
// The program is the child of a process that passes its status on, and dies with
// it. Nothing of the product knows of this.
func UnderLandlock(cmd *exec.Cmd, abi int) *exec.Cmd {
	if cmd.Err != nil {
		return cmd
	}
	if !hooked {
		cmd.Err = errors.New("kerneltest.RunHook is not called first in TestMain")
		return cmd
	}
	cmd.Args = append([]string{capArg0, strconv.Itoa(abi), cmd.Path}, cmd.Args...)
	cmd.Path = "/proc/self/exe"
	return cmd
}

// runCapped takes an ABI, a path and an argument list, and returns the program's
// exit status.
func runCapped(args []string) (int, error) {
	abi, err := strconv.Atoi(args[0])
	if err != nil {
		return 0, err
	}
	runtime.LockOSThread() // a tracer is a thread
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = append([]string{askArg0}, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	return tracer{leader: cmd.Process.Pid, abi: abi}.follow()
}

// runAsking takes a path and an argument list, and becomes that program under a
// filter that stops it at the question for Landlock's version.
func runAsking(args []string) error {
	program, err := assemble([]Filter{{
		Sysno: unix.SYS_LANDLOCK_CREATE_RULESET,
		Args:  []Arg{{Index: 2, Value: unix.LANDLOCK_CREATE_RULESET_VERSION}},
	}})
	if err != nil {
		return err
	}
	program[len(program)-2].K = unix.SECCOMP_RET_TRACE // the last but one answers the call
	return become(program, args[0], args[1:])
}

type tracer struct{ leader, abi int }

// follow lets the threads run until the leader has ended. The first stop is that
// of the leader's execve.
func (t tracer) follow() (int, error) {
	var status unix.WaitStatus
	if _, err := unix.Wait4(t.leader, &status, unix.WALL, nil); err != nil {
		return 0, err
	}
	// A clone with CLONE_VFORK, as Go starts a process, is another event: children
	// are not traced.
	const options = unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL
	if err := unix.PtraceSetOptions(t.leader, options); err != nil {
		return 0, fmt.Errorf("ptrace: %w", err)
	}
	tid := t.leader
	for signal := 0; ; {
		// ESRCH: it was killed meanwhile, and its end comes next.
		if err := unix.PtraceCont(tid, signal); err != nil && !errors.Is(err, unix.ESRCH) {
			return 0, fmt.Errorf("ptrace: %w", err)
		}
		for stopped := false; !stopped; {
			var err error
			if tid, err = unix.Wait4(-1, &status, unix.WALL, nil); errors.Is(err, unix.EINTR) {
				continue
			} else if err != nil {
				return 0, err
			}
			if tid == t.leader && !status.Stopped() {
				return exitStatus(status), nil
			}
			stopped = status.Stopped()
		}
		var err error
		if signal, err = t.stopped(tid, status); err != nil {
			return 0, err
		}
	}
}

// stopped returns the signal to go on with. A new thread begins with a SIGSTOP of
// the tracer's, which nothing else sends here.
func (t tracer) stopped(tid int, status unix.WaitStatus) (int, error) {
	switch {
	case status.TrapCause() == unix.PTRACE_EVENT_SECCOMP:
		return 0, answerCall(tid, t.abi)
	case status.StopSignal() == unix.SIGTRAP, status.StopSignal() == unix.SIGSTOP:
		return 0, nil
	}
	return int(status.StopSignal()), nil
}

func exitStatus(status unix.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}
