package seccomp

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif, and response struct seccomp_notif_resp
// (include/uapi/linux/seccomp.h).
type notification struct {
	id         uint64
	pid, flags uint32
	number     int32
	arch       uint32
	pointer    uint64
	args       [6]uint64
}

type response struct {
	id           uint64
	value        int64
	errno, flags int32
}

// listenerWait is how long, in milliseconds, a test waits for a notification: a
// listener that is closed then frees the caller, so that nothing hangs.
const listenerWait = 10_000

// listen answers every notification with the errno until the other end of stop
// is closed or nothing comes, closes the listener, and returns what arrived. It
// cannot wait for the end of the filter: Go's runtime never ends a process's
// first thread, where the filter may be.
func listen(t *testing.T, listener, stop int, errno unix.Errno) []notification {
	defer unix.Close(listener)
	var got []notification
	for {
		ready := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(stop)}}
		n, err := unix.Poll(ready, listenerWait)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			t.Errorf("waiting for a notification: %d are ready (%v)", n, err)
			return got
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			return got
		}
		var in notification
		if err := notify(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&in)); err != nil {
			t.Errorf("receive a notification: %v", err)
			return got
		}
		got = append(got, in)
		out := response{id: in.id, errno: -int32(errno)}
		if err := notify(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&out)); err != nil {
			t.Errorf("answer a notification: %v", err)
			return got
		}
	}
}

func notify(listener int, command uintptr, message unsafe.Pointer) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), command, uintptr(message))
	if errno != 0 {
		return errno
	}
	return nil
}

// TestNotify installs every program that asks, with a listener. Each call that
// is asked about arrives there with its arguments and gets the listener's
// answer, EXDEV, which nothing else here gives; the calls around it do not
// arrive.
func TestNotify(t *testing.T) {
	asking := slices.DeleteFunc(Variants(), func(v Variant) bool { return !v.Asks() })
	if len(asking) != 16 {
		t.Errorf("%d variants ask, wanted 16", len(asking))
	}
	for _, v := range asking {
		t.Run(v.String(), func(t *testing.T) { notified(t, v) })
	}
}

func notified(t *testing.T, v Variant) {
	program, err := Program(v)
	if err != nil {
		t.Fatal(err)
	}
	var stop [2]int
	if err := unix.Pipe2(stop[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(stop[0])
	listeners, arrivals := make(chan int, 1), make(chan []notification, 1)
	go func() {
		defer close(arrivals)
		if listener, opened := <-listeners; opened {
			arrivals <- listen(t, listener, stop[0], unix.EXDEV)
		}
	}()
	calls := metadataCalls(t)
	onThread(func() {
		defer unix.Close(stop[1])
		defer close(listeners)
		listener, err := installListener(t, program)
		if err != nil {
			t.Error(err)
			return
		}
		listeners <- listener
		for _, call := range calls {
			if got := enter(t, call, a{minusOne, minusOne, minusOne, minusOne, minusOne}); got != unix.EXDEV {
				t.Errorf("%s gave %v, wanted the listener's EXDEV", call, got)
			}
		}
		unasked(t)
	})
	compare(t, <-arrivals, calls)
}

// installListener does without SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV where the
// kernel is older than it, 5.19.
func installListener(t *testing.T, program []byte) (int, error) {
	listener, _, err := installWith(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	if errors.Is(err, unix.EINVAL) {
		t.Log("this kernel does not know SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV")
		listener, _, err = installWith(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	}
	return listener, err
}

// enter tells Go's scheduler that the thread may wait: the listener needs it.
func enter(t *testing.T, call string, args [6]uint64) unix.Errno {
	number, has := Number(call, nativeArch)
	if !has {
		t.Errorf("this architecture has no %s", call)
	}
	_, _, errno := unix.Syscall6(uintptr(number), uintptr(args[0]), uintptr(args[1]), uintptr(args[2]), uintptr(args[3]), uintptr(args[4]), uintptr(args[5]))
	return errno
}

// unasked makes calls that no listener is to see, on descriptors that are not
// open.
func unasked(t *testing.T) {
	for _, call := range []string{"openat", "read", "fstat", "getxattr", "ftruncate"} {
		if got := enter(t, call, a{minusOne}); got == unix.EXDEV || got == unix.ENOSYS || got == 0 {
			t.Errorf("%s gave %v, wanted an error of the kernel's own", call, got)
		}
	}
	if got := enter(t, "getpid", a{}); got != 0 {
		t.Errorf("getpid gave %v", got)
	}
	if got := enter(t, "fcntl", a{minusOne, fSetRWHint}); got != unix.EPERM {
		t.Errorf("fcntl gave %v, wanted EPERM from the filter itself", got)
	}
}

// compare wants one notification of each call, and no other.
func compare(t *testing.T, arrived []notification, calls []string) {
	t.Helper()
	if len(arrived) != len(calls) {
		t.Fatalf("%d notifications arrived, wanted %d", len(arrived), len(calls))
	}
	audit, err := nativeArch.Audit()
	if err != nil {
		t.Fatal(err)
	}
	for i, call := range calls {
		number, _ := Number(call, nativeArch)
		got := arrived[i]
		if int(got.number) != number || got.arch != audit || got.args[0] != minusOne {
			t.Errorf("%+v arrived, wanted %s(%d)", got, call, number)
		}
	}
}
