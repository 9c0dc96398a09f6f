package broker

import (
	"bytes"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

// caller is the thread that a notification came from, by its directory in /proc.
// That stays this thread's: for a later one of the same number it opens nothing.
type caller struct {
	thread *thread // whose identity looks
	proc   int     // the directory, O_PATH
	memory int     // its memory, or -1
	tid    uint32
}

// openCaller opens the directory of a thread; one outside our pid namespace has
// the number 0.
func (t *thread) openCaller(tid uint32) (*caller, error) {
	c := &caller{thread: t, proc: -1, memory: -1, tid: tid}
	open := func() (int, error) {
		return unix.Open("/proc/"+c.number(), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	var err error
	if c.proc, err = open(); err != nil { // with hidepid other users' are not there
		c.proc, err = t.raised(open)
	}
	return c, err
}

// caller returns the caller of that number. The last one's directory stays open:
// most calls come from the thread that made the one before. Where it is known
// and alive it is still the holder of its number, so it sent what has come since.
// That its identity can be read shows that as well as asking.
func (t *thread) caller(tid uint32) (c *caller, known bool, err error) {
	if t.last != nil && t.last.tid == tid && (!t.alone || t.last.alive()) {
		return t.last, true, nil
	}
	t.forget()
	c, err = t.openCaller(tid)
	if err == nil {
		t.last = c
	}
	return c, false, err
}

func (t *thread) forget() {
	if t.last != nil {
		t.last.close()
		t.last = nil
	}
}

// alive says that the thread has not been reaped.
func (c *caller) alive() bool {
	var stat unix.Stat_t
	return unix.Fstatat(c.proc, "status", &stat, unix.AT_SYMLINK_NOFOLLOW) == nil
}

func (c *caller) close() {
	c.rest()
	unix.Close(c.proc)
}

// rest closes the memory, which is another one after execve.
func (c *caller) rest() {
	if c.memory >= 0 {
		unix.Close(c.memory)
		c.memory = -1
	}
}

// open opens an entry of the caller's directory.
func (c *caller) open(name string, flags int) (int, error) {
	fd, err := c.thread.look(func() (int, error) {
		return unix.Openat(c.proc, name, flags|unix.O_CLOEXEC, 0)
	})
	if denied(err) {
		return -1, errUnreadable
	}
	return fd, err
}

func denied(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

// pinned opens a place that the caller has open: its directory, or a descriptor.
func (c *caller) pinned(name string) (int, error) { return c.open(name, unix.O_PATH) }

// descriptor pins an open descriptor of the caller.
func (c *caller) descriptor(n int) (int, error) {
	if n < 0 {
		return -1, unix.EBADF
	}
	fd, err := c.pinned("fd/" + strconv.Itoa(n))
	if errors.Is(err, unix.ENOENT) {
		return -1, unix.EBADF
	}
	return fd, err
}

// placeOnly says whether the descriptor is open for its place alone (O_PATH):
// calls on a descriptor do not take those. The mode of its link has a bit for
// reading and one for writing; only access mode 3 has neither as well.
func (c *caller) placeOnly(n int) (bool, error) {
	name := strconv.Itoa(n)
	var stat unix.Stat_t
	_, err := c.thread.look(func() (int, error) {
		return -1, unix.Fstatat(c.proc, "fd/"+name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	})
	if err == nil && stat.Mode&(unix.S_IRUSR|unix.S_IWUSR) != 0 {
		return false, nil
	}
	info, err := c.read("fdinfo/" + name)
	if err != nil {
		return false, err
	}
	flags, err := strconv.ParseUint(field(info, "flags"), 8, 64)
	return flags&unix.O_PATH != 0, err
}

// read returns the content of an entry of the caller's directory, until the next
// text is read. These are made as a whole, so a short read is the last.
func (c *caller) read(name string) ([]byte, error) {
	fd, err := c.open(name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	content := c.thread.scratch()[:0]
	for {
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
		room := content[len(content):cap(content)]
		n, err := unix.Read(fd, room)
		if err != nil {
			return content, err
		}
		content = content[:len(content)+n]
		if n < len(room) {
			return content, nil
		}
	}
}

// field returns the value of a "name:" line.
func field(text []byte, name string) string {
	rest, found := bytes.CutPrefix(text, []byte(name+":"))
	if !found {
		_, rest, _ = bytes.Cut(text, []byte("\n"+name+":"))
	}
	value, _, _ := bytes.Cut(rest, []byte("\n"))
	return string(bytes.TrimSpace(value))
}

// peek copies the caller's memory, as much of it as there is.
func (c *caller) peek(address uint64, into []byte) (int, error) {
	if c.memory < 0 {
		fd, err := c.open("mem", unix.O_RDONLY)
		if err != nil {
			return 0, err
		}
		c.memory = fd
	}
	n, err := unix.Pread(c.memory, into, int64(untagged(address)))
	if err != nil || n == 0 && len(into) > 0 {
		return 0, unix.EFAULT
	}
	return n, nil
}

// bytes copies exactly n bytes.
func (c *caller) bytes(address uint64, n int) ([]byte, error) {
	b := make([]byte, n)
	got, err := c.peek(address, b)
	if err == nil && got < n {
		err = unix.EFAULT
	}
	return b, err
}

// text copies a string up to its NUL byte, once: what its bytes become later
// does not count.
func (c *caller) text(address uint64, limit int, tooLong error) (string, error) {
	b := c.thread.scratch()[:limit]
	n, err := c.peek(address, b)
	if err != nil {
		return "", err
	}
	if end := bytes.IndexByte(b[:n], 0); end >= 0 {
		return string(b[:end]), nil
	}
	if n < limit {
		return "", unix.EFAULT
	}
	return "", tooLong
}

func (c *caller) path(address uint64) (string, error) {
	return c.text(address, unix.PathMax, unix.ENAMETOOLONG)
}
