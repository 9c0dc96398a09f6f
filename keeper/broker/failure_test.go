package broker

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestPanic: a broker that breaks refuses all, and says why.
func TestPanic(t *testing.T) {
	dir := workplace(t)
	write(t, dir+"/f")
	b := &Broker{threads: newThreads(t), shapes: shapes(), ended: make(chan struct{})}
	s := listened(t, dir, func(listener *os.File) {
		must(t, b.open(Config{Listener: listener}), listener.Close())
		go b.watch() // with no roots, which Serve never does
	})
	t.Cleanup(b.Close)
	for range 2 {
		var err error
		s.do(t, func() { err = unix.Fchmodat(unix.AT_FDCWD, "f", 0o600, 0) })
		if !errors.Is(err, unix.ENOSYS) {
			t.Errorf("got %v, wanted ENOSYS", err)
		}
	}
	ends(t, b)
	if err := b.Err(); err == nil || !strings.Contains(err.Error(), "the broker failed") {
		t.Errorf("the reason is %v", err)
	}
	if got := mode(t, dir+"/f"); got != 0o644 {
		t.Errorf("the mode became %o", got)
	}
}

func ends(t *testing.T, b *Broker) {
	t.Helper()
	select {
	case <-b.Done():
	case <-time.After(patient):
		t.Fatal("the broker did not end")
	}
}

// TestNoListener: what is no listener ends the broker, and soon.
func TestNoListener(t *testing.T) {
	for name, open := range map[string]func() (*os.File, error){
		"a device": func() (*os.File, error) { return os.Open("/dev/zero") },
		"a pipe with something in it": func() (*os.File, error) {
			out, in, err := os.Pipe()
			if err == nil {
				_, err = in.Write([]byte("x"))
				t.Cleanup(func() { in.Close() })
			}
			return out, err
		},
		"an event": func() (*os.File, error) {
			fd, err := unix.Eventfd(1, unix.EFD_CLOEXEC)
			return os.NewFile(uintptr(fd), "event"), err
		},
	} {
		f, err := open()
		must(t, err)
		b, err := Serve(Config{Listener: f, Threads: newThreads(t)})
		if err != nil {
			continue // found out at once
		}
		ends(t, b)
		if b.Err() == nil {
			t.Errorf("%s: the broker ended without a reason", name)
		}
		b.Close()
	}
}

// TestEnd: a broker ends with the last thread of its run, and without a reason.
func TestEnd(t *testing.T) {
	dir := workplace(t)
	write(t, dir+"/f")
	var b *Broker
	t.Run("run", func(t *testing.T) {
		s, started := sandboxed(t, dir, dir)
		b = started
		s.do(t, func() { must(t, unix.Fchmodat(unix.AT_FDCWD, "f", 0o600, 0)) })
	})
	ends(t, b)
	if err := b.Err(); err != nil {
		t.Error(err)
	}
}

// TestClose: calls fail with ENOSYS after it, and it may be called again.
func TestClose(t *testing.T) {
	dir := workplace(t)
	write(t, dir+"/f")
	s, b := sandboxed(t, dir, dir)
	b.Close()
	b.Close()
	s.do(t, func() {
		if err := unix.Fchmodat(unix.AT_FDCWD, "f", 0o600, 0); !errors.Is(err, unix.ENOSYS) {
			t.Errorf("got %v, wanted ENOSYS", err)
		}
	})
	if err := b.Err(); err != nil {
		t.Error(err)
	}
}

// TestIdle: brokers that wait hold neither threads nor descriptors of calls.
func TestIdle(t *testing.T) {
	const brokers, allowed = 200, 20
	dir := workplace(t)
	write(t, dir+"/f")
	var stations []*station
	var listeners []*os.File
	for range brokers {
		stations = append(stations, listened(t, dir, func(l *os.File) { listeners = append(listeners, l) }))
	}
	threads := entries(t, "/proc/self/task")
	files, shared := openRoots(t, dir), newThreads(t)
	for _, l := range listeners {
		b, err := Serve(Config{Listener: l, Roots: files, Threads: shared})
		must(t, err)
		t.Cleanup(b.Close)
	}
	descriptors := openDescriptors(t)
	for _, s := range stations {
		s.do(t, func() {
			if err := unix.Fchmodat(unix.AT_FDCWD, "f", 0o600, 0); err != nil {
				t.Error(err)
			}
		})
	}
	var now int
	for range 100 {
		now = entries(t, "/proc/self/task")
		if now <= threads+allowed && openDescriptors(t) <= descriptors {
			break // a worker lingers a little, with its last caller's
		}
		time.Sleep(2 * linger)
	}
	t.Logf("%d threads before, %d with %d brokers", threads, now, brokers)
	if now > threads+allowed {
		t.Errorf("%d threads for %d idle brokers, wanted %d", now-threads, brokers, allowed)
	}
	if after := openDescriptors(t); after > descriptors {
		t.Errorf("%d descriptors before the calls, %d after", descriptors, after)
	}
}

func entries(t testing.TB, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	must(t, err)
	return len(list)
}

// TestFactsOfARun: what is told is what was refused and would have been done.
func TestFactsOfARun(t *testing.T) {
	base := workplace(t)
	for _, name := range []string{"ws", "ws2"} {
		must(t, os.Mkdir(base+"/"+name, 0o755))
		write(t, base+"/"+name+"/f")
	}
	s, b := sandboxed(t, base, base+"/ws")
	s.do(t, func() {
		for _, tt := range []struct {
			path string
			mode uint32
			want error
		}{
			{"ws/f", 0o600, nil},
			{"ws2/f", 0o600, unix.EACCES},
			{"ws/../ws2/f", 0o600, unix.EACCES},
			{"ws/f", 0o4755, unix.EPERM},
			{"ws", 0o2755, nil},
			{"missing", 0o600, unix.ENOENT},
			{"/proc/self/status", 0o600, unix.EPERM},
		} {
			err := unix.Fchmodat(unix.AT_FDCWD, tt.path, tt.mode, 0)
			if !errors.Is(err, tt.want) {
				t.Errorf("%s: got %v, wanted %v", tt.path, err, tt.want)
			}
		}
	})
	var got []string
	facts, dropped := b.Facts()
	for _, f := range facts {
		got = append(got, fmt.Sprintf("%s %s: %s", f.Op, strings.TrimPrefix(f.Path, base), f.Rule))
	}
	want := []string{"chmod /ws2/f: " + ruleOutside, "chmod /ws/f: " + ruleSetID}
	if fmt.Sprint(got) != fmt.Sprint(want) || dropped != 0 {
		t.Errorf("got %q and %d dropped, wanted %q", got, dropped, want)
	}
	if got := mode(t, base+"/ws2/f"); got != 0o644 {
		t.Errorf("the mode outside became %o", got)
	}
}

// TestLookAround: only a broker of this kind tells its roots.
func TestLookAround(t *testing.T) {
	dir := workplace(t)
	s, _ := sandboxed(t, dir, dir)
	root, other := opened(t, dir), opened(t, "/")
	var inside Around
	var first, none int
	s.do(t, func() { inside, first, none = LookAround(), inside.Root(root), inside.Root(other) })
	if inside != (Around{Broker: true, Roots: 1}) || first != 1 || none != 0 {
		t.Errorf("inside: got %+v, %d and %d", inside, first, none)
	}
	if outside := LookAround(); outside != (Around{}) || outside.Root(root) != 0 {
		t.Errorf("outside: got %+v", outside)
	}
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestCallsAsTheWorkerLeaves: a call that comes when the worker leaves off and the
// poller takes over is told to one of them.
func TestCallsAsTheWorkerLeaves(t *testing.T) {
	dir := workplace(t)
	write(t, dir+"/f")
	s, b := sandboxed(t, dir, dir)
	for i := range 100 {
		time.Sleep(linger + time.Duration(i%20)*50*time.Microsecond)
		give := time.AfterFunc(patient, b.Close) // which answers what hangs
		var err error
		s.do(t, func() { err = unix.Fchmodat(unix.AT_FDCWD, "f", 0o600, 0) })
		if !give.Stop() || err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
	}
}
