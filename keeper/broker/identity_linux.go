package broker

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// identity is what the kernel asks about a thread when it changes a file.
type identity struct {
	uid, gid  uint32 // those for file accesses
	groups    []uint32
	effective uint64 // capabilities
}

func (i identity) owns(uid uint32) bool { return i.uid == uid }

func (i identity) in(gid uint32) bool { return i.gid == gid || slices.Contains(i.groups, gid) }

func (i identity) can(capability int) bool { return i.effective&(1<<capability) != 0 }

func (i identity) same(o identity) bool {
	return i.uid == o.uid && i.gid == o.gid && i.effective == o.effective && slices.Equal(i.groups, o.groups)
}

// parseIdentity reads /proc/PID/status.
func parseIdentity(status []byte) (identity, error) {
	var i identity
	var err error
	if i.uid, err = fourth(field(status, "Uid")); err != nil {
		return i, err
	}
	if i.gid, err = fourth(field(status, "Gid")); err != nil {
		return i, err
	}
	for _, group := range strings.Fields(field(status, "Groups")) {
		n, err := strconv.ParseUint(group, 10, 32)
		if err != nil {
			return i, err
		}
		i.groups = append(i.groups, uint32(n))
	}
	i.effective, err = strconv.ParseUint(field(status, "CapEff"), 16, 64)
	return i, err
}

func (c *caller) identity() (identity, error) {
	status, err := c.read("status")
	if err != nil {
		return identity{}, err
	}
	return parseIdentity(status)
}

// fourth is the number for file accesses of "real effective saved file".
func fourth(ids string) (uint32, error) {
	if strings.Count(ids, "\t") != 3 {
		return 0, fmt.Errorf("read an identity: got %q, wanted four numbers", ids)
	}
	n, err := strconv.ParseUint(ids[strings.LastIndexByte(ids, '\t')+1:], 10, 32)
	return uint32(n), err
}

// uniform says that all four ids are the same.
func uniform(ids string) bool {
	fields := strings.Fields(ids)
	return len(slices.Compact(fields)) == 1
}

// thread is the identity of an operating system thread of ours, which nothing
// else runs on. Linux keeps identities by thread; only C libraries pretend
// otherwise.
type thread struct {
	now       identity
	permitted uint64 // capabilities that it may take
	// spoiled says that a change of identity failed half-way: the thread must
	// not be used again.
	spoiled bool
	// alone says that nothing it starts can get another identity: it has no
	// capabilities, and one user and one group.
	alone bool
	// last is the caller of the call before, or nil.
	last *caller
	// buffer is for what is read and then looked at: allocated anew for each
	// call it would keep the collector busy.
	buffer []byte
}

func (t *thread) scratch() []byte {
	if t.buffer == nil {
		t.buffer = make([]byte, unix.PathMax)
	}
	return t.buffer
}

// newThread gives up every capability but the kept ones, for good.
func newThread(kept uint64) (*thread, error) {
	status, err := readThreadStatus()
	if err != nil {
		return nil, err
	}
	now, err := parseIdentity(status)
	if err != nil {
		return nil, err
	}
	permitted, err := strconv.ParseUint(field(status, "CapPrm"), 16, 64)
	if err != nil {
		return nil, err
	}
	t := &thread{now: now, permitted: permitted & (kept | reading)}
	t.alone = permitted == 0 && uniform(field(status, "Uid")) && uniform(field(status, "Gid"))
	return t, t.set(t.permitted & kept)
}

// reading is the capability to look into a caller that made itself undumpable,
// as every program does that changes its user. It is taken only to open that
// caller's directory and memory, and never to change a file.
const reading = 1 << unix.CAP_SYS_PTRACE

func readThreadStatus() ([]byte, error) {
	c, err := new(thread).openCaller(uint32(unix.Gettid()))
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.read("status")
}

// raise sets the effective capabilities.
func (t *thread) raise(effective uint64) error {
	if t.now.effective == effective {
		return nil
	}
	return t.set(effective)
}

// set makes the permitted capabilities what they are to be and sets the
// effective ones.
func (t *thread) set(effective uint64) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	for i := range data {
		data[i].Effective = uint32(effective >> (32 * i))
		data[i].Permitted = uint32(t.permitted >> (32 * i))
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("set capabilities: %w", err)
	}
	t.now.effective = effective
	return nil
}

// look opens something of a caller. Where the caller's own rights do not suffice
// all of ours are taken for this one call.
func (t *thread) look(open func() (int, error)) (int, error) {
	fd, err := open()
	if !denied(err) {
		return fd, err
	}
	return t.raised(open)
}

// raised opens with all of our rights.
func (t *thread) raised(open func() (int, error)) (int, error) {
	before := t.now.effective
	if err := t.raise(t.permitted); err != nil {
		return -1, err
	}
	fd, err := open()
	if lower := t.raise(before); lower != nil {
		t.spoiled = true
		if err == nil {
			unix.Close(fd)
		}
		return -1, lower
	}
	return fd, err
}

// assume takes an identity, with no more capabilities than are kept. It fails
// where that identity cannot be had.
func (t *thread) assume(want identity) error {
	want.effective &= t.permitted &^ reading
	if t.now.same(want) {
		return nil
	}
	err := t.become(want)
	if err == nil {
		err = t.raise(want.effective)
	}
	if err != nil {
		t.spoiled = true
		return fmt.Errorf("take the identity of user %d: %w", want.uid, err)
	}
	return nil
}

// become changes user and groups. Taking another user drops capabilities, and
// going back raises them, so they are set again afterwards.
func (t *thread) become(want identity) error {
	if want.uid == t.now.uid && want.gid == t.now.gid && slices.Equal(want.groups, t.now.groups) {
		return nil
	}
	if err := t.raise(t.permitted &^ reading); err != nil {
		return err
	}
	if !slices.Equal(want.groups, t.now.groups) {
		if err := setGroups(want.groups); err != nil {
			return err
		}
	}
	err := setFile(unix.SYS_SETFSGID, want.gid)
	if err == nil {
		err = setFile(unix.SYS_SETFSUID, want.uid)
	}
	if err != nil {
		return err
	}
	t.now = identity{uid: want.uid, gid: want.gid, groups: want.groups, effective: ^uint64(0)} // not known
	return nil
}

// setFile sets the user or group for file accesses. The call never fails: it
// returns the old one, so a second call tells whether the first worked.
func setFile(call uintptr, id uint32) error {
	_, _, _ = unix.RawSyscall(call, uintptr(id), 0, 0)
	if got, _, _ := unix.RawSyscall(call, uintptr(^uint32(0)), 0, 0); uint32(got) != id {
		return unix.EPERM
	}
	return nil
}

// setGroups sets the groups of this thread alone; unix.Setgroups would set every
// thread's.
func setGroups(groups []uint32) error {
	var list unsafe.Pointer
	if len(groups) > 0 {
		list = unsafe.Pointer(&groups[0])
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(groups)), uintptr(list), 0); errno != 0 {
		return errno
	}
	return nil
}
