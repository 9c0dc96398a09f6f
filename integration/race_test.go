package integration

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/keeper/broker"
)

// TestRaces races each call first against a broker that looks and then lets the
// kernel go on, which must lose: else the race shows nothing. The real one must
// win as many tries and more.
func TestRaces(t *testing.T) {
	needs(t, kerneltest.Broker)
	const most, least = 50_000, 10_000
	for name := range races {
		t.Run(name, func(t *testing.T) {
			lost := raceAgainst(t, name, most, serveCareless)
			if lost[0] != "lost" {
				t.Fatalf("the broker that looks first and lets go was not caught: %v", lost)
			}
			tries := max(least, 2*number(lost[1]))
			held := raceAgainst(t, name, tries, serveReal)
			t.Logf("careless: %v; real: %v (tries, done, refused)", lost, held)
			if held[0] != "held" || number(held[2]) == 0 || number(held[3]) == 0 {
				t.Errorf("got %v, wanted %d tries, some of them done and some refused", held, tries)
			}
		})
	}
}

// raceAgainst runs the racer and returns the words that it prints.
func raceAgainst(t *testing.T, name string, tries int, serve func(*testing.T, *os.File, *os.File) func()) []string {
	t.Helper()
	dir := realTempDir(t)
	for _, part := range []string{"in", "on"} {
		if err := os.Mkdir(filepath.Join(dir, part), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, part, "f"), "")
	}
	cmd := self(t, "as-asking", "as-racer", name, strconv.Itoa(tries))
	cmd.Dir = dir
	var out, message bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &message
	listener := startAsking(t, cmd)
	stop := serve(t, listener, openPlace(t, filepath.Join(dir, "in")))
	err := cmd.Wait()
	stop()
	words := strings.Fields(out.String())
	if err != nil || len(words) < 2 {
		t.Fatalf("the racer: %v: %s%s", err, out.String(), message.String())
	}
	return words
}

// startAsking starts a program and returns its filter's listener.
func startAsking(t *testing.T, cmd *exec.Cmd) *os.File {
	t.Helper()
	ours, theirs := socketPair(t)
	cmd.ExtraFiles = []*os.File{theirs}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	return receiveListener(t, ours)
}

func openPlace(t testing.TB, path string) *os.File {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	t.Cleanup(func() { f.Close() })
	return f
}

func socketPair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs = os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

func receiveListener(t *testing.T, socket *os.File) *os.File {
	t.Helper()
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(int(socket.Fd()), make([]byte, 1), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		t.Fatalf("no listener came: %d messages (%v)", len(messages), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fds[0]), "listener")
}

func brokerThreads(t *testing.T) *broker.Threads {
	t.Helper()
	threads, err := broker.NewThreads(confine.Kept)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(threads.Close)
	return threads
}

func serveReal(t *testing.T, listener, root *os.File) (stop func()) {
	t.Helper()
	b, err := broker.Serve(broker.Config{Listener: listener, Roots: []*os.File{root}, Threads: brokerThreads(t)})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		b.Close()
		if err := b.Err(); err != nil {
			t.Error(err)
		}
	}
}

// What the careless broker reads, struct seccomp_notif, and its answer.
type (
	raceQuestion struct {
		id         uint64
		pid, flags uint32
		number     int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	raceAnswer struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
)

// serveCareless looks where the call leads and then lets the kernel walk there
// again. It is wrong on purpose.
func serveCareless(t *testing.T, listener, root *os.File) (stop func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			poll := []unix.PollFd{{Fd: int32(listener.Fd()), Events: unix.POLLIN}}
			_, err := unix.Poll(poll, int(patience.Milliseconds()))
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if poll[0].Revents&unix.POLLIN == 0 {
				return
			}
			careless(listener, root)
		}
	}()
	return func() { <-ended; listener.Close() }
}

func careless(listener, root *os.File) {
	var q raceQuestion
	if raceControl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&q)) != 0 {
		return
	}
	a := raceAnswer{id: q.id, errno: -int32(unix.EACCES)}
	if carelessAllows(q, root) {
		a = raceAnswer{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	}
	raceControl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&a))
	runtime.KeepAlive(listener)
}

func raceControl(listener *os.File, command uintptr, argument unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, listener.Fd(), command, uintptr(argument))
	return errno
}

func carelessAllows(q raceQuestion, root *os.File) bool {
	path := fmt.Sprintf("/proc/%d/fd/%d", q.pid, q.args[0])
	if q.number == unix.SYS_FCHMODAT {
		path = fmt.Sprintf("/proc/%d/cwd/%s", q.pid, raceText(q.pid, q.args[1]))
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	where, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return false
	}
	place, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", root.Fd()))
	return err == nil && strings.HasPrefix(where, place+"/")
}

func raceText(pid uint32, address uint64) string {
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return ""
	}
	defer memory.Close()
	b := make([]byte, 64)
	n, _ := memory.ReadAt(b, int64(address))
	text, _, _ := bytes.Cut(b[:n], []byte{0})
	return string(text)
}
