// Package nofollow opens files by paths that lead through no symlink, so that a
// path that was looked at cannot be made to lead elsewhere.
//
// It does not resolve: a symlink on the way is an error.
package nofollow

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Open opens path with the flags of open(2), and the mode where it makes a file.
// A symlink anywhere on path is ELOOP. The error is a bare errno.
func Open(path string, flags int, mode uint32) (*os.File, error) {
	if flags&unix.O_CREAT == 0 {
		mode = 0 // openat2 wants it so
	}
	how := unix.OpenHow{
		Flags:   uint64(flags | unix.O_CLOEXEC), // with O_NOFOLLOW, O_PATH would open a symlink
		Mode:    uint64(mode),
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, &how) })
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		fd, err = walk(path, flags, mode)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// walk does name by name what openat2 does at once. Filters refuse openat2,
// ours among them, because it hides its flags behind a pointer; older ones of
// containers answer EPERM. A real EPERM comes back from the walk.
func walk(path string, flags int, mode uint32) (int, error) {
	dir, err := start(path)
	if err != nil {
		return -1, err
	}
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	for i, name := range names {
		next := -1
		if i < len(names)-1 {
			next, err = step(dir, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		} else {
			next, err = step(dir, name, flags, mode)
		}
		unix.Close(dir)
		if err != nil {
			return -1, err
		}
		dir = next
	}
	return dir, nil
}

func start(path string) (int, error) {
	from := "."
	if strings.HasPrefix(path, "/") {
		from = "/"
	}
	return step(unix.AT_FDCWD, from, unix.O_PATH|unix.O_DIRECTORY, 0)
}

// step opens one name. With O_PATH a symlink itself is opened, and refused here;
// with O_DIRECTORY it answers ENOTDIR.
func step(dir int, name string, flags int, mode uint32) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, name, flags|unix.O_CLOEXEC|unix.O_NOFOLLOW, mode)
	})
	if errors.Is(err, unix.ENOTDIR) && isLink(dir, name) {
		return -1, unix.ELOOP
	}
	if err != nil || flags&unix.O_PATH == 0 {
		return fd, err
	}
	var stat unix.Stat_t
	if err = unix.Fstat(fd, &stat); err == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK {
		err = unix.ELOOP
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func isLink(dir int, name string) bool {
	var stat unix.Stat_t
	err := unix.Fstatat(dir, name, &stat, unix.AT_SYMLINK_NOFOLLOW)
	return err == nil && stat.Mode&unix.S_IFMT == unix.S_IFLNK
}

func retry(open func() (int, error)) (int, error) {
	for {
		fd, err := open()
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
