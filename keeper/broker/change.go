package broker

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// change is what a call does to its file, with everything read from the caller.
type change interface {
	// nothing says that there is nothing to do, for which the kernel does not
	// even look at the path.
	nothing() bool
	// apply makes the change, with the identity of this thread.
	apply(p *pin) error
	// forbidden names the rule that refuses the change wherever the file lies;
	// empty where none does.
	forbidden(p *pin) string
	// ordinary is what the kernel would answer to this identity by itself: zero
	// where it would make the change.
	ordinary(p *pin, who identity) unix.Errno
}

// change reads what the call points to.
func (r request) change(c *caller) (change, error) {
	switch r.op {
	case fact.OpChmod:
		return modeChange(r.arg(0) & 0o7777), nil
	case fact.OpChown:
		return ownerChange{uid: uint32(r.arg(0)), gid: uint32(r.arg(1))}, nil
	case fact.OpUtime:
		return r.timesChange(c)
	}
	return r.attributeChange(c)
}

// Rules, as a fact names them.
const (
	ruleOutside  = "outside the writable roots"
	ruleUnsure   = "where the file lies could not be shown"
	ruleSetID    = "set-id bits"
	ruleSecurity = "attributes that the kernel reads as privileges"
)

const setIDBits = unix.S_ISUID | unix.S_ISGID

// modeChange is the new mode's permission bits.
type modeChange uint32

func (m modeChange) nothing() bool { return false }

// apply walks through /proc where the kernel does not know fchmodat2 (before
// Linux 6.6) or a filter around us does not.
func (m modeChange) apply(p *pin) error {
	err := unix.Fchmodat(p.fd, "", uint32(m), unix.AT_EMPTY_PATH)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
		return unix.Fchmodat(unix.AT_FDCWD, p.link(), uint32(m), 0)
	}
	return err
}

// forbidden leaves the set-group-id bit to directories, where it only says whose
// group new files get. A bit that a file has already is refused as well: a write
// that takes it away may happen between the look and the change.
func (m modeChange) forbidden(p *pin) string {
	if m&setIDBits != 0 && p.kind() != unix.S_IFDIR {
		return ruleSetID
	}
	return ""
}

func (m modeChange) ordinary(p *pin, who identity) unix.Errno {
	switch {
	case p.kind() == unix.S_IFLNK:
		return unix.EOPNOTSUPP
	case !p.ownedBy(who):
		return unix.EPERM
	}
	return 0
}

// ownerChange is the new owner and group; all bits set leaves one as it is.
type ownerChange struct{ uid, gid uint32 }

const unchanged = ^uint32(0)

func (o ownerChange) nothing() bool { return false }

func (o ownerChange) apply(p *pin) error {
	return unix.Fchownat(p.fd, "", int(int32(o.uid)), int(int32(o.gid)), unix.AT_EMPTY_PATH)
}

func (o ownerChange) forbidden(*pin) string { return "" }

func (o ownerChange) ordinary(p *pin, who identity) unix.Errno {
	if who.can(unix.CAP_CHOWN) {
		return 0
	}
	if o.uid != unchanged && (o.uid != p.stat.Uid || !who.owns(p.stat.Uid)) {
		return unix.EPERM
	}
	if o.gid != unchanged && (!who.owns(p.stat.Uid) || o.gid != p.stat.Gid && !who.in(o.gid)) {
		return unix.EPERM
	}
	return 0
}

// timesChange is the new times of access and change; nil is now.
type timesChange []unix.Timespec

func (r request) timesChange(c *caller) (change, error) {
	address := r.arg(0)
	if address == 0 {
		return timesChange(nil), nil
	}
	size := 32
	if r.times == seconds {
		size = 16
	}
	b, err := c.bytes(address, size)
	if err != nil {
		return nil, err
	}
	var numbers [4]int64
	for i := range size / 8 {
		numbers[i] = int64(le.Uint64(b[8*i:]))
	}
	return r.times.read(numbers)
}

// read checks microseconds as the kernel does, before it looks at the path
// (fs/utimes.c). Nanoseconds it checks last, when the change is made.
func (l layout) read(n [4]int64) (change, error) {
	if l == seconds {
		return timesChange{{Sec: n[0]}, {Sec: n[1]}}, nil
	}
	times := timesChange{{Sec: n[0], Nsec: n[1]}, {Sec: n[2], Nsec: n[3]}}
	if l == nanoseconds {
		return times, nil
	}
	for i := range times {
		if times[i].Nsec < 0 || times[i].Nsec >= 1e6 {
			return nil, unix.EINVAL
		}
		times[i].Nsec *= 1000
	}
	return times, nil
}

// valid is asked where the kernel is not.
func (t timesChange) valid() bool {
	return !slices.ContainsFunc(t, func(at unix.Timespec) bool {
		special := at.Nsec == unix.UTIME_NOW || at.Nsec == unix.UTIME_OMIT
		return !special && (at.Nsec < 0 || at.Nsec >= 1e9)
	})
}

func (t timesChange) nothing() bool {
	return t != nil && t[0].Nsec == unix.UTIME_OMIT && t[1].Nsec == unix.UTIME_OMIT
}

func (t timesChange) apply(p *pin) error {
	return unix.UtimesNanoAt(p.fd, "", t, unix.AT_EMPTY_PATH)
}

func (t timesChange) forbidden(*pin) string { return "" }

// now says that both times become the present: whoever may write the file may
// do that as well.
func (t timesChange) now() bool {
	return t == nil || t[0].Nsec == unix.UTIME_NOW && t[1].Nsec == unix.UTIME_NOW
}

func (t timesChange) ordinary(p *pin, who identity) unix.Errno {
	switch {
	case !t.valid():
		return unix.EINVAL
	case p.ownedBy(who):
		return 0
	case t.now():
		return p.writable()
	}
	return unix.EPERM
}

// attributeChange sets an extended attribute, or removes it.
type attributeChange struct {
	name   string
	value  []byte
	flags  int
	remove bool
}

// Bounds of include/uapi/linux/limits.h.
const (
	maxAttributeName  = 255
	maxAttributeValue = 65536
)

func (r request) attributeChange(c *caller) (change, error) {
	name, err := c.text(r.arg(0), maxAttributeName+1, unix.ERANGE)
	if err == nil && name == "" {
		err = unix.ERANGE
	}
	a := attributeChange{name: name, remove: r.remove}
	if err != nil || r.remove {
		return a, err
	}
	a.flags = int(int32(r.arg(3)))
	size := r.arg(2)
	switch {
	case a.flags&^(unix.XATTR_CREATE|unix.XATTR_REPLACE) != 0:
		return nil, unix.EINVAL
	case size > maxAttributeValue:
		return nil, unix.E2BIG
	case size > 0:
		a.value, err = c.bytes(r.arg(1), int(size))
	}
	return a, err
}

func (a attributeChange) nothing() bool { return false }

func (a attributeChange) apply(p *pin) error {
	if a.remove {
		return unix.Removexattr(p.link(), a.name)
	}
	return unix.Setxattr(p.link(), a.name, a.value, a.flags)
}

func (a attributeChange) forbidden(*pin) string {
	if strings.HasPrefix(a.name, "security.") {
		return ruleSecurity
	}
	return ""
}

func (a attributeChange) ordinary(p *pin, who identity) unix.Errno {
	exists := p.attribute(a.name)
	if exists == unix.EOPNOTSUPP {
		return exists
	}
	if errno := a.permitted(p, who); errno != 0 {
		return errno
	}
	switch {
	case exists == 0 && a.flags&unix.XATTR_CREATE != 0:
		return unix.EEXIST
	case exists == unix.ENODATA && a.remove && a.list():
		return 0
	case exists == unix.ENODATA && (a.remove || a.flags&unix.XATTR_REPLACE != 0), exists == unix.EINVAL:
		return exists
	}
	return 0
}

// list says that the attribute is an access control list: one that is not there
// is removed without an error.
func (a attributeChange) list() bool { return strings.HasPrefix(a.name, "system.posix_acl_") }

func (a attributeChange) permitted(p *pin, who identity) unix.Errno {
	switch {
	case strings.HasPrefix(a.name, "user."):
		if !p.takesUserAttributes(who) {
			return unix.EPERM
		}
		return p.writable()
	case a.name == "security.capability" && !who.can(unix.CAP_SETFCAP):
		return unix.EPERM
	case a.name == "security.capability":
		return 0
	case strings.HasPrefix(a.name, "security."), strings.HasPrefix(a.name, "trusted."):
		if !who.can(unix.CAP_SYS_ADMIN) {
			return unix.EPERM
		}
		return 0
	case !p.ownedBy(who):
		return unix.EPERM
	}
	return 0
}
