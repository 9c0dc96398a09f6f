package integration

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/fact"
)

// metadataCall says where a call takes what: the indexes of its arguments, or
// metadataNone.
type metadataCall struct {
	// name is the call's, and behind a slash which use of it this is.
	name                  string
	op                    fact.Op
	fd, path, data, flags int
	words                 []string // what data is by default
}

const metadataNone = -1

// Every call changes what metadataTree made: mode 0644, the caller's owner,
// times long ago and the attribute user.old.
func metadataCalls() []metadataCall {
	const no = metadataNone
	mode, owner := []string{"0o600"}, metadataOwner()
	spec, val, buf := []string{metadataTimes(7, 8, 9, 10)}, []string{metadataTimes(7, 8, 9, 10)}, []string{metadataTimes(7, 9)}
	set, remove := []string{"text:user.new", "text:v", "1", "0"}, []string{"text:user.old"}
	all := []metadataCall{
		{"chmod", fact.OpChmod, no, 0, 1, no, mode},
		{"fchmod", fact.OpChmod, 0, no, 1, no, mode},
		{"fchmodat", fact.OpChmod, 0, 1, 2, no, mode},
		{"fchmodat2", fact.OpChmod, 0, 1, 2, 3, mode},
		{"chown", fact.OpChown, no, 0, 1, no, owner},
		{"lchown", fact.OpChown, no, 0, 1, no, owner},
		{"fchown", fact.OpChown, 0, no, 1, no, owner},
		{"fchownat", fact.OpChown, 0, 1, 2, 4, owner},
		{"utime", fact.OpUtime, no, 0, 1, no, buf},
		{"utime/now", fact.OpUtime, no, 0, 1, no, []string{"0"}},
		{"utimes", fact.OpUtime, no, 0, 1, no, val},
		{"futimesat", fact.OpUtime, 0, 1, 2, no, val},
		{"futimesat/null", fact.OpUtime, 0, no, 2, no, val},
		{"utimensat", fact.OpUtime, 0, 1, 2, 3, spec},
		{"utimensat/now", fact.OpUtime, 0, 1, 2, 3, []string{"0"}},
		{"utimensat/null", fact.OpUtime, 0, no, 2, no, spec},
		{"utimensat/null now", fact.OpUtime, 0, no, 2, no, []string{"0"}},
		{"setxattr", fact.OpXattr, no, 0, 1, no, set},
		{"lsetxattr", fact.OpXattr, no, 0, 1, no, set},
		{"fsetxattr", fact.OpXattr, 0, no, 1, no, set},
		{"removexattr", fact.OpXattr, no, 0, 1, no, remove},
		{"lremovexattr", fact.OpXattr, no, 0, 1, no, remove},
		{"fremovexattr", fact.OpXattr, 0, no, 1, no, remove},
	}
	var here []metadataCall
	for _, c := range all {
		if _, has := c.number(); has {
			here = append(here, c)
		}
	}
	return here
}

func (c metadataCall) number() (uintptr, bool) {
	name, _, _ := strings.Cut(c.name, "/")
	n, has := seccomp.Number(name, seccomp.Arch(runtime.GOARCH))
	return uintptr(n), has
}

func metadataCallNamed(name string) (metadataCall, bool) {
	for _, c := range metadataCalls() {
		if c.name == name {
			return c, true
		}
	}
	return metadataCall{}, false
}

// metadataOwner is somebody else for root, who alone may give a file away.
func metadataOwner() []string {
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = victimNobody, victimNobody
	}
	return []string{strconv.Itoa(uid), strconv.Itoa(gid)}
}

func metadataTimes(numbers ...int64) string {
	var b []byte
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	return "hex:" + hex.EncodeToString(b)
}

// metadataData are what a call may be given instead, and is mostly refused for.
func metadataData(c metadataCall) [][]string {
	const high = "0x100000000"
	switch {
	case c.op == fact.OpChmod:
		return [][]string{{"0"}, {"0o1777"}, {"0o170644"}, {"0x1000001a4"}, {"0xffff81a4"}}
	case c.op == fact.OpChown:
		return [][]string{{"-1", "-1"}, {"0xffffffff", "0xffffffff"}, {strconv.Itoa(os.Getuid()), "-1"}, {"-1", strconv.Itoa(os.Getgid())}, {high, high}, {"12345", "-1"}, {"-1", "12345"}}
	case c.op == fact.OpUtime:
		return metadataBadTimes()
	case len(c.words) == 1: // removes
		return [][]string{{"text:user.absent"}, {"text:"}, {"bad"}, {"0"}, {"text:" + strings.Repeat("n", 255)}, {"text:" + strings.Repeat("n", 256)}, {"text:nospace.x"}, {"text:user."}}
	}
	return [][]string{
		{"text:user.new", "0", "0", "0"},
		{"text:user.new", "bad", "0", "0"},
		{"text:user.new", "bad", "1", "0"},
		{"text:user.new", "0", "1", "0"},
		{"text:user.new", "bad", "65537", "0"},
		{"text:user.new", "bad", "-1", "0"},
		{"text:user.new", "text:v", "1", "1"}, // XATTR_CREATE
		{"text:user.old", "text:v", "1", "1"},
		{"text:user.new", "text:v", "1", "2"}, // XATTR_REPLACE
		{"text:user.old", "text:v", "1", "2"},
		{"text:user.new", "text:v", "1", "3"},
		{"text:user.new", "text:v", "1", "4"},
		{"text:user.new", "text:v", "1", high},
		{"text:", "text:v", "1", "0"},
		{"bad", "text:v", "1", "0"},
		{"text:" + strings.Repeat("n", 255), "text:v", "1", "0"},
		{"text:" + strings.Repeat("n", 256), "text:v", "1", "0"},
		{"text:user." + strings.Repeat("n", 250), "text:v", "1", "0"},
		{"text:nospace.x", "text:v", "1", "0"},
		{"text:user.", "text:v", "1", "0"},
		{"text:user.\xff\n", "text:v", "1", "0"},
		{"text:system.posix_acl_access", "text:v", "1", "0"},
		{"text:trusted.x", "text:v", "1", "0"},
	}
}

func metadataBadTimes() [][]string {
	lists := [][]int64{
		{7, unix.UTIME_NOW, 9, unix.UTIME_NOW},
		{7, unix.UTIME_NOW, 9, 10},
		{7, 8, 9, unix.UTIME_OMIT},
		{7, unix.UTIME_OMIT, 9, unix.UTIME_OMIT},
		{7, unix.UTIME_NOW, 9, unix.UTIME_OMIT},
		{7, 999_999, 9, 999_999},
		{7, 1_000_000, 9, 10},
		{7, 8, 9, 999_999_999},
		{7, 1_000_000_000, 9, 10},
		{7, -1, 9, 10},
		{-7, 8, -9, 10},
	}
	words := [][]string{{"bad"}, {"0"}}
	for _, l := range lists {
		words = append(words, []string{metadataTimes(l...)})
	}
	return words
}
