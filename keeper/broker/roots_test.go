package broker

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// laid has a root "ws" and what lies in it and beside it.
type laid struct {
	base, ws string
	roots    *roots
}

func lay(t *testing.T) laid {
	t.Helper()
	base := workplace(t)
	l := laid{base: base, ws: filepath.Join(base, "ws")}
	for _, dir := range []string{"ws/d/e", "ws2/d", "ws (deleted)", "out"} {
		must(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	for _, file := range []string{"ws/f", "ws/d/f", "ws/d/e/f", "ws2/f", "ws2/d/f", "ws (deleted)/f", "out/f", "ws/x (deleted)", "out/x (deleted)", "wsf"} {
		write(t, filepath.Join(base, file))
	}
	l.roots = rootsOf(t, l.ws)
	return l
}

func rootsOf(t *testing.T, paths ...string) *roots {
	t.Helper()
	r, err := newRoots(openRoots(t, paths...))
	must(t, err)
	return r
}

func (l laid) holds(t *testing.T, path string) bool {
	t.Helper()
	where, s := l.roots.hold(pinOf(t, filepath.Join(l.base, path), unix.O_NOFOLLOW))
	if s == beneath && where == "" {
		t.Errorf("%s is held and lies nowhere", path)
	}
	return s == beneath
}

func TestHold(t *testing.T) {
	l := lay(t)
	must(t, os.Symlink("../out/f", filepath.Join(l.ws, "link")))
	for path, want := range map[string]bool{
		"ws": true, "ws/f": true, "ws/d": true, "ws/d/e/f": true, "ws/link": true, "ws/x (deleted)": true,
		"ws2": false, "ws2/f": false, "ws2/d/f": false, "ws (deleted)": false, "ws (deleted)/f": false,
		"out/f": false, "out/x (deleted)": false, "wsf": false, ".": false, "..": false,
	} {
		if got := l.holds(t, path); got != want {
			t.Errorf("%s: held %v", path, got)
		}
	}
}

// TestHoldMoved: where a root lies is asked anew once it lies there no more, and
// what took its place is not held.
func TestHoldMoved(t *testing.T) {
	l := lay(t)
	inside := pinOf(t, l.ws+"/d/f", 0)
	if _, s := l.roots.hold(inside); s != beneath {
		t.Fatal("not held at first")
	}
	must(t, os.Rename(l.ws, filepath.Join(l.base, "moved")), os.Rename(filepath.Join(l.base, "ws2"), l.ws))
	if where, s := l.roots.hold(inside); s != beneath || where != filepath.Join(l.base, "moved/d/f") {
		t.Errorf("the moved root: %q, standing %d", where, s)
	}
	if l.holds(t, "ws/d/f") || l.holds(t, "ws") {
		t.Error("what took the root's place is held")
	}
	must(t, os.Rename(filepath.Join(l.base, "moved/d"), filepath.Join(l.base, "out/d")))
	if _, s := l.roots.hold(inside); s == beneath {
		t.Error("a file that was moved out is held")
	}
}

func TestHoldFile(t *testing.T) {
	l := lay(t)
	l.roots = rootsOf(t, filepath.Join(l.base, "out/f"))
	if !l.holds(t, "out/f") || l.holds(t, "out") || l.holds(t, "ws/f") {
		t.Error("a root that is a file holds something else")
	}
	must(t, os.Rename(filepath.Join(l.base, "out/f"), filepath.Join(l.base, "out/g")))
	write(t, filepath.Join(l.base, "out/f"))
	if l.holds(t, "out/f") || !l.holds(t, "out/g") {
		t.Error("a file in the place of a root that was renamed is held")
	}
}

// TestHoldLinks: a file counts by the name that it was found by.
func TestHoldLinks(t *testing.T) {
	l := lay(t)
	must(t, os.Link(l.ws+"/f", filepath.Join(l.base, "out/hard")))
	if !l.holds(t, "ws/f") || l.holds(t, "out/hard") {
		t.Error("the two names of a hard link are taken for each other")
	}
	must(t, os.Rename(l.ws+"/d", l.ws+"/real"), os.Symlink("real", l.ws+"/d"))
	if !l.holds(t, "ws/d/f") {
		t.Error("a file behind a symlink within the root is not held")
	}
	must(t, os.Symlink("../out", l.ws+"/away"))
	if l.holds(t, "ws/away/f") {
		t.Error("a file behind a symlink that leads away is held")
	}
}

func TestHoldDeleted(t *testing.T) {
	l := lay(t)
	// The name that the kernel then shows is another file's.
	write(t, l.ws+"/f (deleted)")
	gone, dir, impostor := pinOf(t, l.ws+"/f", 0), pinOf(t, l.ws+"/d", 0), pinOf(t, l.ws+"/f (deleted)", 0)
	must(t, os.Remove(l.ws+"/f"), os.RemoveAll(l.ws+"/d"))
	for _, p := range []*pin{gone, dir} {
		if _, s := l.roots.hold(p); s == beneath {
			t.Error("a deleted file is held")
		}
	}
	if _, s := l.roots.hold(impostor); s != beneath {
		t.Error("a file whose name says that it is deleted is not held")
	}
	in, out := pinOf(t, l.ws+"/x (deleted)", 0), pinOf(t, filepath.Join(l.base, "out/x (deleted)"), 0)
	must(t, os.RemoveAll(l.ws))
	if _, s := l.roots.hold(in); s == beneath {
		t.Error("a file is held in a root that was deleted")
	}
	if l.holds(t, "ws (deleted)/f") || l.holds(t, "ws (deleted)") {
		t.Error("a directory is held whose path is what the kernel shows of the deleted root")
	}
	if _, s := l.roots.hold(out); s == beneath {
		t.Error("a file beside the root is held")
	}
}

func TestHoldEverything(t *testing.T) {
	l := lay(t)
	l.roots = rootsOf(t, "/")
	for _, path := range []string{"ws/f", "out", "/"} {
		if !l.holds(t, path) {
			t.Errorf("%s is not held by /", path)
		}
	}
	l.roots = rootsOf(t)
	if l.holds(t, "ws/f") {
		t.Error("held by no root")
	}
}

func TestAnonymous(t *testing.T) {
	l := lay(t)
	memory, err := unix.MemfdCreate("name", unix.MFD_CLOEXEC)
	must(t, err)
	var ends, pair [2]int
	must(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	must(t, err)
	unnamed, err := unix.Open(l.ws, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	must(t, err)
	for name, fd := range map[string]int{"memory": memory, "pipe": ends[0], "its other end": ends[1], "socket": pair[0], "its other": pair[1], "O_TMPFILE": unnamed} {
		if !pinned(t, fd).anonymous() {
			t.Errorf("%s is not anonymous", name)
		}
	}
	named, dir := pinOf(t, l.ws+"/x (deleted)", 0), pinOf(t, l.ws+"/d", 0)
	linked := pinOf(t, filepath.Join(l.base, "out/f"), 0)
	must(t, os.Link(filepath.Join(l.base, "out/f"), filepath.Join(l.base, "out/g")), os.Remove(filepath.Join(l.base, "out/f")))
	for _, p := range []*pin{named, dir, linked, pinOf(t, "/dev/null", 0), pinOf(t, "/proc/self/status", 0)} {
		if p.anonymous() {
			where, _ := place(p.fd)
			t.Errorf("%s is anonymous", where)
		}
	}
	gone := pinOf(t, l.ws+"/f", 0)
	must(t, os.Remove(l.ws+"/f"))
	if gone, err := newPin(gone.fd); err != nil || !gone.anonymous() {
		t.Errorf("a deleted file is not anonymous: %v", err)
	}
}
