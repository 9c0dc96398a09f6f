package broker

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// walker walks a path by hand, one name at a time. Every step is the kernel's own
// look-up of one name; only symlinks are read and followed here, so that those of
// /proc lead where they lead for the caller.
type walker struct {
	caller *caller
	link   bool     // a symlink at the end is not followed
	at     int      // where it is, O_PATH
	rest   []string // names still to be walked, the next one last
	links  int
}

// maxLinks is the kernel's own bound (MAXSYMLINKS).
const maxLinks = 40

// procRoot is the inode of the root of every proc file system.
const procRoot = 1

func (w *walker) walk(base int, path string) (int, error) {
	var err error
	if w.at, err = startOf(base, path); err != nil {
		return -1, err
	}
	w.push(path)
	for len(w.rest) > 0 {
		if err := w.step(); err != nil {
			unix.Close(w.at)
			return -1, err
		}
	}
	return w.at, nil
}

func startOf(base int, path string) (int, error) {
	if path[0] == '/' {
		return openRoot()
	}
	return unix.FcntlInt(uintptr(base), unix.F_DUPFD_CLOEXEC, 0)
}

func openRoot() (int, error) {
	return unix.Open("/", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// push puts the names of a path before what is left. One that ends in a slash
// must be a directory.
func (w *walker) push(path string) {
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if strings.HasSuffix(path, "/") {
		names = append(names, ".")
	}
	for i := len(names) - 1; i >= 0; i-- {
		w.rest = append(w.rest, names[i])
	}
}

func (w *walker) move(fd int) {
	unix.Close(w.at)
	w.at = fd
}

func (w *walker) step() error {
	name := w.rest[len(w.rest)-1]
	w.rest = w.rest[:len(w.rest)-1]
	if name == "." || name == ".." {
		fd, err := unix.Openat(w.at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err == nil {
			w.move(fd)
		}
		return err
	}
	fd, err := w.open(name, unix.O_NOFOLLOW)
	if err != nil {
		return err
	}
	var stat unix.Stat_t
	err = unix.Fstat(fd, &stat)
	follow := stat.Mode&unix.S_IFMT == unix.S_IFLNK && (len(w.rest) > 0 || !w.link)
	if err == nil && !follow {
		w.move(fd)
		return nil
	}
	defer unix.Close(fd)
	if err == nil {
		err = w.follow(fd, name)
	}
	return err
}

// processOf is the process whose directory a file in /proc lies in. Nothing there
// can be renamed, so the kernel's word for the place is more than a hint; in
// another proc file system the same number may be another process.
func processOf(fd int) string {
	if !inProc(fd) {
		return ""
	}
	where, err := place(fd)
	below, is := strings.CutPrefix(where, "/proc/")
	if err != nil || !is {
		return ""
	}
	process, _, _ := strings.Cut(below, "/")
	return process
}

func (w *walker) atProcRoot() bool {
	var stat unix.Stat_t
	return inProc(w.at) && unix.Fstat(w.at, &stat) == nil && stat.Ino == procRoot
}

// follow goes on at what the symlink leads to.
func (w *walker) follow(symlink int, name string) error {
	if w.links++; w.links > maxLinks {
		return unix.ELOOP
	}
	if !inProc(symlink) {
		return w.readLink(symlink)
	}
	if w.atProcRoot() && (name == "self" || name == "thread-self") {
		return w.pushSelf(name)
	}
	fd, err := unix.Openat2(w.at, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS})
	if err == nil {
		unix.Close(fd)
	}
	if !errors.Is(err, unix.ELOOP) && !denied(err) { // denied: of a caller that is undumpable
		return w.readLink(symlink)
	}
	return w.jump(name)
}

func (w *walker) pushSelf(name string) error {
	group, err := w.caller.group()
	if err != nil {
		return err
	}
	if name == "thread-self" {
		group += "/task/" + w.caller.number()
	}
	w.push(group)
	return nil
}

func (w *walker) readLink(symlink int) error {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(symlink, "", buffer)
	if err != nil {
		return err
	}
	text := string(buffer[:n])
	if strings.HasPrefix(text, "/") {
		fd, err := openRoot()
		if err != nil {
			return err
		}
		w.move(fd)
	}
	w.push(text)
	return nil
}

// jump follows a link that is no path: the kernel puts the walker where the
// caller's process has something open. Other processes' are not followed.
func (w *walker) jump(name string) error {
	if !w.atHome() {
		return unix.EACCES
	}
	fd, err := w.open(name, 0)
	if err == nil {
		w.move(fd)
	}
	return err
}

// open opens a name. A caller that is undumpable may not look into its own
// directory of /proc, though the kernel lets it: that is for who asks about others.
func (w *walker) open(name string, flags int) (int, error) {
	open := func() (int, error) { return unix.Openat(w.at, name, unix.O_PATH|unix.O_CLOEXEC|flags, 0) }
	fd, err := open()
	if denied(err) && w.atHome() {
		return w.caller.thread.look(open)
	}
	return fd, err
}

// atHome says that the walker is in the directory of the caller's process.
func (w *walker) atHome() bool {
	process := processOf(w.at)
	group, err := w.caller.group()
	return err == nil && process != "" && (process == group || process == w.caller.number())
}

func (c *caller) number() string { return strconv.FormatUint(uint64(c.tid), 10) }

// group is the number of the caller's process.
func (c *caller) group() (string, error) {
	status, err := c.read("status")
	return field(status, "Tgid"), err
}
