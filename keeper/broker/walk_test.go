package broker

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// walked is the file that a path leads to from dir.
func walked(t *testing.T, c *caller, dir, path string, link bool) (*pin, error) {
	t.Helper()
	base := unix.AT_FDCWD
	if path[0] != '/' {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_CLOEXEC, 0)
		must(t, err)
		defer unix.Close(fd)
		base = fd
	}
	fd, err := c.walk(base, path, target{link: link})
	if err != nil {
		return nil, err
	}
	return pinned(t, fd), nil
}

// TestWalk compares what a path leads to for the broker with what it leads to
// for the caller: the same thread here.
func TestWalk(t *testing.T) {
	c := selfCaller(t)
	dir := workplace(t)
	must(t, os.MkdirAll(dir+"/d/e", 0o755))
	write(t, dir+"/f")
	write(t, dir+"/d/e/f")
	f, err := os.Open(dir + "/f")
	must(t, err)
	d, err := os.Open(dir + "/d")
	must(t, err)
	t.Cleanup(func() { f.Close(); d.Close() })
	pid, tid := os.Getpid(), unix.Gettid()
	for name, to := range map[string]string{
		"link": "f", "dlink": "d", "dangling": "missing", "loop": "loop",
		"absolute":  dir + "/d/e/f",
		"magic":     fmt.Sprintf("/proc/self/fd/%d", f.Fd()),
		"magicdir":  fmt.Sprintf("/proc/self/fd/%d", d.Fd()),
		"devfd":     fmt.Sprintf("/dev/fd/%d", d.Fd()),
		"threadcwd": "/proc/thread-self/cwd", "byprocess": fmt.Sprintf("/proc/%d/fd/%d", pid, f.Fd()),
		"slash": "d/", "fslash": "f/", "dots": "d/../d/./e/..",
	} {
		must(t, os.Symlink(to, dir+"/"+name))
	}
	before := openDescriptors(t)
	for _, path := range []string{
		"f", "f/", "d", "d/", "d/.", "d/e/..", ".", "./", "..", "link", "link/", "dlink", "dlink/", "dlink/e/f", "dangling", "dangling/", "loop",
		"missing", "missing/x", "f/x", "f/.", "f/..", "absolute", "magic", "magic/", "magicdir", "magicdir/", "magicdir/e/f", "devfd/e", "devfd/e/f", "threadcwd",
		"byprocess", "slash", "slash/e", "fslash", "dots", "dots/e/f", "magicdir/../f", strings.Repeat("n", 256), strings.Repeat("d/../", 50) + "f",
		"/", "//", "/..", "/proc/self", "/proc/self/", "/proc/thread-self", "/proc/self/status", "/proc/thread-self/status", "/proc/self/exe", "/proc/self/cwd",
		"/proc/self/root", "/proc/self/root" + dir + "/f", "/proc/self/cwd/.", "/proc/self/fd/9999", "/proc/self/../self/status", "/proc/../proc/self/cwd",
		"/dev/fd", "/dev/stdin", "/proc/mounts", "/proc/net/dev", "/proc/self/ns/mnt", fmt.Sprintf("/proc/%d/task/%d/cwd", pid, tid),
		fmt.Sprintf("/proc/self/task/%d/fd/%d", tid, f.Fd()), fmt.Sprintf("/proc/%d/cwd", tid), fmt.Sprintf("/dev/fd/%d/e", d.Fd()),
	} {
		for _, link := range []bool{false, true} {
			compareWalk(t, c, dir, path, link)
		}
	}
	if after := openDescriptors(t); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func compareWalk(t *testing.T, c *caller, dir, path string, link bool) {
	t.Helper()
	flags := 0
	if link {
		flags = unix.O_NOFOLLOW
	}
	full := path
	if path[0] != '/' {
		full = dir + "/" + path
	}
	fd, wantErr := unix.Open(full, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	got, err := walked(t, c, dir, path, link)
	if err == nil {
		defer func() { got.close(); got.fd = -1 }()
	}
	if wantErr != nil {
		if !errors.Is(err, wantErr) {
			t.Errorf("%q (link %v): got %v, wanted %v", path, link, err, wantErr)
		}
		return
	}
	defer unix.Close(fd)
	var want unix.Stat_t
	must(t, unix.Fstat(fd, &want))
	if err != nil || !got.is(want) {
		t.Errorf("%q (link %v): got %+v and %v, wanted inode %d", path, link, got, err, want.Ino)
	}
}

// openDescriptors counts ours.
func openDescriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}

// TestWalkTooManyLinks: forty are followed, as by the kernel.
func TestWalkTooManyLinks(t *testing.T) {
	c := selfCaller(t)
	dir := workplace(t)
	for _, end := range []string{"/proc/self/fd/0", dir + "/f"} {
		last := dir + "/0"
		write(t, dir+"/f")
		_ = os.Remove(last)
		must(t, os.Symlink(end, last))
		for i := 1; i <= 41; i++ {
			name := fmt.Sprintf("%s/%d", dir, i)
			_ = os.Remove(name)
			must(t, os.Symlink(fmt.Sprint(i-1), name))
		}
		for i := 36; i <= 41; i++ {
			compareWalk(t, c, dir, fmt.Sprint(i), false)
			compareWalk(t, c, dir, fmt.Sprint(i), true)
		}
	}
}

// TestWalkOthers: what another process has open is not reached, whoever asks.
func TestWalkOthers(t *testing.T) {
	c := selfCaller(t)
	other := exec.Command("cat")
	in, err := other.StdinPipe()
	must(t, err, other.Start())
	t.Cleanup(func() { in.Close(); _ = other.Wait() })
	for _, link := range []string{"cwd", "root", "exe", "fd/0", "ns/mnt", "cwd/x", "root/etc"} {
		path := fmt.Sprintf("/proc/%d/%s", other.Process.Pid, link)
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			t.Errorf("the caller itself cannot: %v", err)
		}
		if _, err := walked(t, c, "/", path, false); !errors.Is(err, unix.EACCES) {
			t.Errorf("%s: got %v, wanted EACCES", path, err)
		}
	}
	if _, err := walked(t, c, "/", fmt.Sprintf("/proc/%d/status", other.Process.Pid), false); err != nil {
		t.Errorf("what is no link: %v", err)
	}
}
