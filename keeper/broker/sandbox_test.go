package broker

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// patient is how long a test waits for what should take milliseconds.
const patient = 20 * time.Second

// station is a thread of its own that does what it is told, in a directory.
type station struct {
	work  chan func()
	ended chan struct{}
}

// newStation starts a thread that shares neither its directory nor its filter
// with others. It ends with the test.
func newStation(t testing.TB, dir string, prepare func() error) *station {
	t.Helper()
	s := &station{work: make(chan func()), ended: make(chan struct{})}
	ready := make(chan error, 1)
	go offMainThread(func() {
		defer close(s.ended)
		err := unix.Unshare(unix.CLONE_FS)
		if err == nil {
			err = unix.Chdir(dir)
		}
		if err == nil {
			err = prepare()
		}
		ready <- err
		for f := range s.work {
			f()
		}
	})
	t.Cleanup(func() { close(s.work); <-s.ended })
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	return s
}

// offMainThread runs f on a thread that ends with it. The process's first thread
// never ends, and its directory is what /proc/self/cwd shows.
func offMainThread(f func()) {
	runtime.LockOSThread() // and never unlocked
	if unix.Gettid() == unix.Getpid() {
		done := make(chan struct{})
		go func() { defer close(done); offMainThread(f) }()
		<-done
		return
	}
	f()
}

// do runs f on the thread, and fails where it does not return.
func (s *station) do(t testing.TB, f func()) {
	t.Helper()
	done := make(chan struct{})
	s.work <- func() { defer close(done); f() }
	select {
	case <-done:
	case <-time.After(patient):
		t.Fatal("a call was not answered")
	}
}

// sandboxed is a station whose calls a broker answers.
func sandboxed(t testing.TB, dir string, roots ...string) (*station, *Broker) {
	t.Helper()
	var b *Broker
	s := listened(t, dir, func(listener *os.File) {
		var err error
		if b, err = Serve(Config{Listener: listener, Roots: openRoots(t, roots...), Threads: newThreads(t)}); err != nil {
			t.Fatal(err)
		}
	})
	t.Cleanup(b.Close)
	return s, b
}

// listened is a station under the filter; serve gets the listener.
func listened(t testing.TB, dir string, serve func(*os.File)) *station {
	t.Helper()
	kerneltest.Require(t, kerneltest.Broker)
	var listener int
	s := newStation(t, dir, func() (err error) {
		listener, err = installAsking()
		return err
	})
	serve(os.NewFile(uintptr(listener), "listener"))
	return s
}

func openRoots(t testing.TB, paths ...string) []*os.File {
	t.Helper()
	var files []*os.File
	for _, path := range paths {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatalf("open %s: %v", path, err)
		}
		f := os.NewFile(uintptr(fd), path)
		t.Cleanup(func() { f.Close() })
		files = append(files, f)
	}
	return files
}

// installAsking asks about every call that has a shape. The real filters have
// more to them and are tested elsewhere, with a broker behind them.
func installAsking() (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for number := range shapes() {
		program = append(
			program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(number), Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		)
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// workplace is a directory whose path no symlink is part of.
func workplace(t testing.TB) string {
	t.Helper()
	kerneltest.Require(t, kerneltest.Broker)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func mode(t testing.TB, path string) uint32 {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Lstat(path, &stat))
	return stat.Mode & 0o7777
}

// pinOf pins a path as openat would find it.
func pinOf(t testing.TB, path string, flags int) *pin {
	t.Helper()
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	must(t, err)
	return pinned(t, fd)
}

func pinned(t testing.TB, fd int) *pin {
	t.Helper()
	p, err := newPin(fd)
	must(t, err)
	t.Cleanup(p.close)
	return p
}

// selfCaller is this very thread as a caller. The test must stay on it.
func selfCaller(t testing.TB) *caller {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	c, err := new(thread).openCaller(uint32(unix.Gettid()))
	must(t, err)
	t.Cleanup(c.close)
	return c
}

func sorted[T int32 | string](list []T) []T {
	slices.Sort(list)
	return list
}

// newThreads keep all capabilities, so that tests see what broker and kernel make
// of them.
func newThreads(t testing.TB) *Threads {
	t.Helper()
	threads, err := NewThreads(^uint64(0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(threads.Close)
	return threads
}
