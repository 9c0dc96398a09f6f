//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HelperName is argv[0] of a helper.
const HelperName = "sandbox-exec-helper"

// HelperSocket is the descriptor of a helper's SEQPACKET socket.
const HelperSocket = 3

// hooked says that RunHelper was called in this process.
var hooked atomic.Bool

// RunHelper makes this process a helper if it was started as one, and then
// does not return. In every other process it returns at once.
//
// It must be the first statement of main, and of TestMain in tests, because a
// helper is this same program executed again: without the hook the whole
// program would run a second time instead of the command.
func RunHelper() {
	hooked.Store(true)
	if len(os.Args) > 0 && os.Args[0] == HelperName {
		runtime.LockOSThread()
		answer(help())
		os.Exit(125)
	}
}

// Hooked reports whether RunHelper was called in this process.
func Hooked() bool { return hooked.Load() }

// help serves the one plan that comes over the socket. It returns only when
// that failed, with the index of the step.
func help() (step uint32, err error) {
	payload, files, err := receive(HelperSocket)
	if err != nil {
		return noStep, err
	}
	restoreFileLimit()
	memory, err := mapPayload(payload)
	if err != nil {
		return noStep, err
	}
	base := uintptr(unsafe.Pointer(&memory[0]))
	prog, err := decode(memory, func(at int, offset uint64) {
		le.PutUint64(memory[at:], uint64(base)+offset)
	})
	if err != nil {
		return noStep, err
	}
	return execute(prog, memory, files)
}

// restoreFileLimit gives back the soft limit on open files that the Go runtime
// raised at start. syscall.Exec is the only way to it, and it does so before
// an execve that fails for want of a path.
func restoreFileLimit() {
	_ = syscall.Exec("", nil, nil)
}

// receive takes the message with the plan: the payload first, then the slots.
func receive(socket int) (payload int, files []int, err error) {
	control := make([]byte, unix.CmsgSpace(4*MaxFiles))
	n, oobn, flags, _, err := unix.Recvmsg(socket, make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return 0, nil, fmt.Errorf("receive a plan: %w", err)
	}
	if n == 0 || flags&unix.MSG_CTRUNC != 0 {
		return 0, nil, fmt.Errorf("receive a plan: got %d bytes and flags %#x", n, flags)
	}
	messages, err := unix.ParseSocketControlMessage(control[:oobn])
	if err != nil || len(messages) != 1 {
		return 0, nil, fmt.Errorf("receive a plan: got %d control messages, wanted 1: %w", len(messages), errors.Join(err, errPlan))
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return 0, nil, fmt.Errorf("receive a plan: no descriptors: %w", errors.Join(err, errPlan))
	}
	return fds[0], fds[1:], nil
}

// MaxFiles is the most descriptors one message carries (SCM_MAX_FD).
const MaxFiles = 253

// mapPayload maps it private and writable: pointers are put right in place.
func mapPayload(fd int) ([]byte, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("look at the plan: %w", err)
	}
	if stat.Size < headerSize || stat.Size > maxPayload {
		return nil, fmt.Errorf("%w: %d bytes", errPlan, stat.Size)
	}
	memory, err := unix.Mmap(fd, 0, int(stat.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map the plan: %w", err)
	}
	return memory, nil
}

// execute performs the calls on this thread. It returns only when one did not
// do what the plan says, with the index of its step.
func execute(p program, memory []byte, files []int) (uint32, error) {
	base := uintptr(unsafe.Pointer(&memory[0]))
	slots := make([]uint64, p.slots)
	slots[ControlSlot] = HelperSocket
	if len(files) >= len(slots) {
		return noStep, fmt.Errorf("%w: %d descriptors for %d slots", errPlan, len(files), len(slots))
	}
	for i, fd := range files {
		slots[i+1] = uint64(fd)
	}
	for _, r := range p.calls {
		result, _, errno := perform(r, base, slots)
		switch {
		case r.expect != 0 && errno == unix.Errno(r.expect), r.optional:
		case r.expect != 0 || errno != 0:
			return uint32(r.step), errno
		}
		if r.out != NoSlot {
			slots[r.out] = uint64(result)
		}
		if r.store != 0 {
			le.PutUint32(memory[r.store:], uint32(result))
		}
	}
	return noStep, fmt.Errorf("%w: it ends without exec", errPlan)
}

func perform(r record, base uintptr, slots []uint64) (r1, r2 uintptr, errno unix.Errno) {
	var a [6]uintptr
	for i, v := range r.args {
		switch r.kind(i) {
		case argSlot:
			a[i] = uintptr(slots[v])
		case argData:
			a[i] = base + uintptr(v)
		default:
			a[i] = uintptr(v)
		}
	}
	return unix.RawSyscall6(r.number, a[0], a[1], a[2], a[3], a[4], a[5])
}

// answer tells the keeper. Where nobody listens there is nobody to tell.
func answer(step uint32, err error) {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		errno = unix.EPROTO
	}
	message := appendMessage(kindFailed, step, uint32(errno))
	_, _ = unix.SendmsgN(HelperSocket, message, nil, nil, unix.MSG_NOSIGNAL)
}
