package broker

import (
	"encoding/binary"
	"errors"
	"strconv"

	"golang.org/x/sys/unix"
)

var le = binary.LittleEndian

// pin is a file that is held by a descriptor of ours and can no longer become
// another one.
type pin struct {
	fd   int
	stat unix.Stat_t
}

// newPin takes the descriptor over.
func newPin(fd int) (*pin, error) {
	p := &pin{fd: fd}
	if err := unix.Fstat(fd, &p.stat); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return p, nil
}

func (p *pin) close() { unix.Close(p.fd) }

func (p *pin) kind() uint32 { return p.stat.Mode & unix.S_IFMT }

func (p *pin) is(other unix.Stat_t) bool { return p.stat.Dev == other.Dev && p.stat.Ino == other.Ino }

// link is a path that leads to the pin and to nothing else, for the calls that
// take no descriptor opened with O_PATH.
func (p *pin) link() string { return linkTo(p.fd) }

func linkTo(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// place is where the kernel says that the file lies: a hint, since it may be
// moved while this is read.
func place(fd int) (string, error) {
	var buffer [512]byte // most are short
	n, err := unix.Readlink(linkTo(fd), buffer[:])
	if n < len(buffer) {
		return string(buffer[:max(n, 0)]), err
	}
	long := make([]byte, unix.PathMax)
	n, err = unix.Readlink(linkTo(fd), long)
	return string(long[:max(n, 0)]), err
}

func (p *pin) ownedBy(who identity) bool { return who.owns(p.stat.Uid) || who.can(unix.CAP_FOWNER) }

// takesUserAttributes: files and directories do, a sticky directory only its
// owner's (fs/xattr.c, xattr_permission).
func (p *pin) takesUserAttributes(who identity) bool {
	switch p.kind() {
	case unix.S_IFREG:
		return true
	case unix.S_IFDIR:
		return p.stat.Mode&unix.S_ISVTX == 0 || p.ownedBy(who)
	}
	return false
}

// writable asks the kernel, which knows of access control lists, for the
// identity of this thread.
func (p *pin) writable() unix.Errno {
	return errnoOf(unix.Faccessat2(p.fd, "", unix.W_OK, unix.AT_EMPTY_PATH|unix.AT_EACCESS))
}

// attribute says what reading the attribute gives.
func (p *pin) attribute(name string) unix.Errno {
	_, err := unix.Getxattr(p.link(), name, nil)
	return errnoOf(err)
}

// frozen says what refuses the change whoever asks: a read-only file system, an
// immutable file, one that can only grow, or a file system that has no such thing
// to change for long (fs/attr.c, fs/xattr.c, fs/proc/base.c).
func (p *pin) frozen(c change) unix.Errno {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(p.fd, &fs); err != nil {
		return errnoOf(err)
	}
	switch {
	case fs.Flags&unix.ST_RDONLY != 0:
		return unix.EROFS
	case fs.Type == unix.ANON_INODE_FS_MAGIC:
		return unix.EOPNOTSUPP
	case fs.Type == unix.PROC_SUPER_MAGIC, p.fixed(c): // what /proc has is made anew all the time
		return unix.EPERM
	}
	return 0
}

// fixed: a file that can only grow still takes the present as its times.
func (p *pin) fixed(c change) bool {
	var x unix.Statx_t
	if unix.Statx(p.fd, "", unix.AT_EMPTY_PATH, unix.STATX_BASIC_STATS, &x) != nil {
		return false
	}
	times, is := c.(timesChange)
	if is && times.now() {
		return x.Attributes&unix.STATX_ATTR_IMMUTABLE != 0
	}
	return x.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0
}

// anonymous says that the file has no name anywhere: a pipe, a socket, a memory
// file, or a file whose last name is gone. Nobody can reach it but who has it
// open. Some file systems count no links, so the kernel must also say that the
// name was deleted.
func (p *pin) anonymous() bool {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(p.fd, &fs); err != nil {
		return false
	}
	if fs.Type == unix.PIPEFS_MAGIC || fs.Type == unix.SOCKFS_MAGIC {
		return true
	}
	where, err := place(p.fd)
	const deleted = " (deleted)"
	return err == nil && p.stat.Nlink == 0 && len(where) > len(deleted) && where[len(where)-len(deleted):] == deleted
}

// errnoOf keeps the errno of an error; one without any is EIO.
func errnoOf(err error) unix.Errno {
	if err == nil {
		return 0
	}
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return unix.EIO
}
