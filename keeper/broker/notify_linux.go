package broker

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The structures and numbers of include/uapi/linux/seccomp.h. The numbers hold
// the structures' sizes, so a kernel with larger ones still knows these.

// notification is struct seccomp_notif with its struct seccomp_data.
type notification struct {
	id     uint64
	pid    uint32 // of the thread, in the reader's pid namespace; 0 outside it
	flags  uint32
	number int32
	arch   uint32
	ip     uint64
	args   [6]uint64
}

// response is struct seccomp_notif_resp. Error is negative; without one the call
// returns value.
type response struct {
	id    uint64
	value int64
	error int32
	flags uint32
}

// receive takes the next notification. The error is ENOENT where the caller was
// killed before it was read.
func receive(listener int) (notification, error) {
	var n notification // the kernel wants it zeroed
	err := control(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
	return n, err
}

// respond ends the caller's wait. That the caller is gone is no error.
func respond(listener int, r response) error {
	err := control(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

// valid is ENOENT where the caller no longer waits. Else what was learned before
// from its thread's number was learned from it and not from a later thread.
func valid(listener int, id uint64) error {
	return control(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id))
}

// wakeOnThisCPU has the kernel switch between caller and broker on one CPU
// (Linux 6.6). Without it all is only slower.
func wakeOnThisCPU(listener int) {
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
}

func control(listener int, command uintptr, argument unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), command, uintptr(argument))
		if errno == 0 {
			return nil
		}
		if errno != unix.EINTR {
			return errno
		}
	}
}
