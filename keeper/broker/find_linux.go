package broker

import (
	"errors"

	"golang.org/x/sys/unix"
)

// find pins the file that the caller names, as the kernel would find it for the
// caller, and with no more rights.
func (c *caller) find(t target) (*pin, error) {
	if t.self {
		return c.opened(t.dir)
	}
	path, err := c.path(t.path)
	if err != nil {
		return nil, err
	}
	var fd int
	switch {
	case path == "" && !t.empty:
		return nil, unix.ENOENT
	case path == "":
		fd, err = c.start(t.dir)
	case path[0] == '/':
		fd, err = c.walk(unix.AT_FDCWD, path, t)
	default:
		fd, err = c.below(t, path)
	}
	if err != nil {
		return nil, err
	}
	return newPin(fd)
}

// opened pins an open file, as the calls on a descriptor take it.
func (c *caller) opened(n int) (*pin, error) {
	fd, err := c.descriptor(n)
	if err != nil {
		return nil, err
	}
	placeOnly, err := c.placeOnly(n)
	if err == nil && placeOnly {
		err = unix.EBADF
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return newPin(fd)
}

// start pins what a relative path starts from.
func (c *caller) start(dir int) (int, error) {
	if dir == unix.AT_FDCWD {
		return c.pinned("cwd")
	}
	return c.descriptor(dir)
}

func (c *caller) below(t target, path string) (int, error) {
	base, err := c.start(t.dir)
	if err != nil {
		return -1, err
	}
	defer unix.Close(base)
	return c.walk(base, path, t)
}

// walk lets the kernel walk the path where that cannot tell apart whose walk it
// is. It can where the path leads through /proc: "self" is there who asks.
func (c *caller) walk(base int, path string, t target) (int, error) {
	flags := uint64(unix.O_PATH | unix.O_CLOEXEC)
	if t.link {
		flags |= unix.O_NOFOLLOW
	}
	fd, err := unix.Openat2(base, path, &unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	switch {
	case err == nil && !inProc(fd):
		return fd, nil
	case err == nil:
		unix.Close(fd)
	case !errors.Is(err, unix.ELOOP) && !errors.Is(err, unix.ENOENT):
		return -1, err
	}
	w := walker{caller: c, link: t.link}
	return w.walk(base, path)
}

func inProc(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) != nil || fs.Type == unix.PROC_SUPER_MAGIC
}
