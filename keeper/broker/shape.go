package broker

import (
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// shape says how a call names its file and where its other arguments start.
type shape struct {
	op   fact.Op
	fd   int // the argument with a descriptor, or none
	path int // the argument with a path, or none
	data int // the first argument of what is to be changed
	// flags is the argument with AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH, or none.
	flags int
	// link says that the call acts on a symlink itself.
	link bool
	// remove and times tell apart the calls of one op.
	remove bool
	times  layout
}

const none = -1

// layout is how a call's times lie in memory.
type layout uint8

const (
	nanoseconds  layout = iota // struct timespec[2]
	microseconds               // struct timeval[2]
	seconds                    // struct utimbuf
)

func onPath(op fact.Op) shape { return shape{op: op, fd: none, path: 0, data: 1, flags: none} }

func onLink(op fact.Op) shape {
	s := onPath(op)
	s.link = true
	return s
}

func onDescriptor(op fact.Op) shape { return shape{op: op, fd: 0, path: none, data: 1, flags: none} }

func at(op fact.Op, flags int) shape { return shape{op: op, fd: 0, path: 1, data: 2, flags: flags} }

func removing(s shape) shape {
	s.remove = true
	return s
}

func timed(s shape, l layout) shape {
	s.times = l
	return s
}

// shapes are the calls of every architecture; legacyShapes those that newer
// ones do not have.
func shapes() map[int32]shape {
	all := map[int32]shape{
		unix.SYS_FCHMOD:       onDescriptor(fact.OpChmod),
		unix.SYS_FCHMODAT:     at(fact.OpChmod, none),
		unix.SYS_FCHMODAT2:    at(fact.OpChmod, 3),
		unix.SYS_FCHOWN:       onDescriptor(fact.OpChown),
		unix.SYS_FCHOWNAT:     at(fact.OpChown, 4),
		unix.SYS_UTIMENSAT:    at(fact.OpUtime, 3),
		unix.SYS_SETXATTR:     onPath(fact.OpXattr),
		unix.SYS_LSETXATTR:    onLink(fact.OpXattr),
		unix.SYS_FSETXATTR:    onDescriptor(fact.OpXattr),
		unix.SYS_REMOVEXATTR:  removing(onPath(fact.OpXattr)),
		unix.SYS_LREMOVEXATTR: removing(onLink(fact.OpXattr)),
		unix.SYS_FREMOVEXATTR: removing(onDescriptor(fact.OpXattr)),
	}
	for number, s := range legacyShapes() {
		all[number] = s
	}
	return all
}

// request is one call, with nothing read from the caller's memory yet.
type request struct {
	shape
	args [6]uint64
}

func (r request) arg(i int) uint64 { return r.args[r.data+i] }

// target is how a call names its file.
type target struct {
	// dir is a descriptor of the caller: what the path is relative to, or the
	// file itself.
	dir int
	// path is the path's address.
	path uint64
	// self says that there is no path: the descriptor is the file, and must be
	// open for more than its place.
	self bool
	// link says that a symlink at the end is not followed; empty that an empty
	// path means dir.
	link, empty bool
}

// target reads the arguments as the kernel does: descriptors and flags are ints.
func (r request) target() (target, error) {
	t := target{dir: unix.AT_FDCWD, link: r.link}
	if r.fd != none {
		t.dir = int(int32(r.args[r.fd]))
	}
	if r.path == none {
		t.self = true
		return t, nil
	}
	t.path = r.args[r.path]
	if r.flags == none {
		return r.null(t, 0)
	}
	flags := int32(r.args[r.flags])
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return t, unix.EINVAL
	}
	t.link = flags&unix.AT_SYMLINK_NOFOLLOW != 0
	t.empty = flags&unix.AT_EMPTY_PATH != 0
	return r.null(t, flags)
}

// null is for the calls that change times: without a path they mean the
// descriptor (fs/utimes.c, do_utimes).
func (r request) null(t target, flags int32) (target, error) {
	if r.op != fact.OpUtime || t.path != 0 || t.dir == unix.AT_FDCWD {
		return t, nil
	}
	if flags != 0 {
		return t, unix.EINVAL
	}
	t.self = true
	return t, nil
}
