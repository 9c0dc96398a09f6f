package broker

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

const high = uint64(0xdead_beef) << 32

// cwd is AT_FDCWD as a register holds it, with the sign or without.
const (
	cwdSigned = ^uint64(99)
	cwdShort  = uint64(0xffff_ff9c)
)

func TestTargets(t *testing.T) {
	chmodAt, chownAt := at(fact.OpChmod, 3), at(fact.OpChown, 4)
	utime := at(fact.OpUtime, 3)
	const nofollow, empty = unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH
	for _, tt := range []struct {
		name  string
		shape shape
		args  [6]uint64
		want  target
		errno error
	}{
		{"a path", onPath(fact.OpChmod), [6]uint64{77}, target{dir: unix.AT_FDCWD, path: 77}, nil},
		{"a link", onLink(fact.OpChown), [6]uint64{77}, target{dir: unix.AT_FDCWD, path: 77, link: true}, nil},
		{"a descriptor", onDescriptor(fact.OpChmod), [6]uint64{5}, target{dir: 5, self: true}, nil},
		{"a descriptor with high bits", onDescriptor(fact.OpChmod), [6]uint64{high | 5}, target{dir: 5, self: true}, nil},
		{"a negative descriptor", onDescriptor(fact.OpChmod), [6]uint64{0xffff_ffff}, target{dir: -1, self: true}, nil},
		{"AT_FDCWD", chmodAt, [6]uint64{cwdSigned, 77}, target{dir: unix.AT_FDCWD, path: 77}, nil},
		{"AT_FDCWD without sign", chmodAt, [6]uint64{cwdShort, 77}, target{dir: unix.AT_FDCWD, path: 77}, nil},
		{"AT_FDCWD with high bits", chmodAt, [6]uint64{high | cwdShort, 77}, target{dir: unix.AT_FDCWD, path: 77}, nil},
		{"a path keeps its high bits", chmodAt, [6]uint64{3, high | 77}, target{dir: 3, path: high | 77}, nil},
		{"no follow", chmodAt, [6]uint64{3, 77, 0, nofollow}, target{dir: 3, path: 77, link: true}, nil},
		{"empty", chownAt, [6]uint64{3, 77, 0, 0, empty}, target{dir: 3, path: 77, empty: true}, nil},
		{"both", chownAt, [6]uint64{3, 77, 0, 0, nofollow | empty}, target{dir: 3, path: 77, link: true, empty: true}, nil},
		{"flags with high bits", chmodAt, [6]uint64{3, 77, 0, high | nofollow}, target{dir: 3, path: 77, link: true}, nil},
		{"an unknown flag", chmodAt, [6]uint64{3, 77, 0, 1}, target{}, unix.EINVAL},
		{"a negative flag", chmodAt, [6]uint64{3, 77, 0, ^uint64(0)}, target{}, unix.EINVAL},
		{"fchmodat has no flags", at(fact.OpChmod, none), [6]uint64{3, 77, 0, ^uint64(0)}, target{dir: 3, path: 77}, nil},
		{"times of a descriptor", utime, [6]uint64{3}, target{dir: 3, self: true}, nil},
		{"times of a descriptor, with flags", utime, [6]uint64{3, 0, 0, nofollow}, target{}, unix.EINVAL},
		{"times of nothing", utime, [6]uint64{cwdSigned}, target{dir: unix.AT_FDCWD}, nil},
		{"times of a descriptor by futimesat", at(fact.OpUtime, none), [6]uint64{3}, target{dir: 3, self: true}, nil},
		{"a mode of a null path", chmodAt, [6]uint64{3}, target{dir: 3}, nil},
	} {
		got, err := request{shape: tt.shape, args: tt.args}.target()
		if err != tt.errno || err == nil && got != tt.want {
			t.Errorf("%s: got %+v and %v, wanted %+v and %v", tt.name, got, err, tt.want, tt.errno)
		}
	}
}

// TestShapes: no shape reads an argument that is not there, or one twice.
func TestShapes(t *testing.T) {
	for number, s := range shapes() {
		last := s.data + map[fact.Op]int{fact.OpChmod: 0, fact.OpChown: 1, fact.OpUtime: 0, fact.OpXattr: 3}[s.op]
		if s.remove {
			last = s.data
		}
		if s.fd == none && s.path == none || s.data <= s.path || s.data <= s.fd || s.flags != none && s.flags <= last || last > 5 {
			t.Errorf("call %d: %+v", number, s)
		}
		if s.link && s.flags != none || s.remove && s.op != fact.OpXattr || s.times != nanoseconds && s.op != fact.OpUtime {
			t.Errorf("call %d: %+v", number, s)
		}
	}
}

// TestModes: an int argument's high bits are thrown away, and so are those of a
// mode that are no permissions.
func TestModes(t *testing.T) {
	for in, want := range map[uint64]modeChange{
		0o644: 0o644, high | 0o600: 0o600, 0o170644: 0o644, 0xffff_0000_0000_09ed: 0o4755, 1<<16 | 0o6755: 0o6755,
	} {
		got, err := request{shape: onPath(fact.OpChmod), args: [6]uint64{0, in}}.change(nil)
		if err != nil || got != want {
			t.Errorf("mode %#x became %v and %v, wanted %v", in, got, err, want)
		}
	}
	got, err := request{shape: onPath(fact.OpChown), args: [6]uint64{0, high | 5, high | 0xffff_ffff}}.change(nil)
	if want := (ownerChange{5, unchanged}); err != nil || got != want {
		t.Errorf("got %v and %v, wanted %v", got, err, want)
	}
}

func TestTimes(t *testing.T) {
	const now, omit = unix.UTIME_NOW, unix.UTIME_OMIT
	for _, tt := range []struct {
		name   string
		layout layout
		in     [4]int64
		want   timesChange // nil is EINVAL
	}{
		{"nanoseconds", nanoseconds, [4]int64{1, 2, 3, 4}, timesChange{{Sec: 1, Nsec: 2}, {Sec: 3, Nsec: 4}}},
		{"before 1970", nanoseconds, [4]int64{-1, 0, -1, 999_999_999}, timesChange{{Sec: -1}, {Sec: -1, Nsec: 999_999_999}}},
		{"now and omit", nanoseconds, [4]int64{5, now, 6, omit}, timesChange{{Sec: 5, Nsec: now}, {Sec: 6, Nsec: omit}}},
		{"a second of nanoseconds", nanoseconds, [4]int64{1, 1e9, 3, 4}, nil},
		{"negative nanoseconds", nanoseconds, [4]int64{1, 1, 3, -1}, nil},
		{"a high bit in nanoseconds", nanoseconds, [4]int64{1, 1 | 1<<40, 3, 4}, nil},
		{"microseconds", microseconds, [4]int64{1, 2, 3, 999_999}, timesChange{{Sec: 1, Nsec: 2000}, {Sec: 3, Nsec: 999_999_000}}},
		{"a second of microseconds", microseconds, [4]int64{1, 1e6, 3, 4}, nil},
		{"negative microseconds", microseconds, [4]int64{1, 0, 3, -1}, nil},
		{"now is no microseconds", microseconds, [4]int64{1, now, 3, 4}, nil},
		{"omit is no microseconds", microseconds, [4]int64{1, 2, 3, omit}, nil},
		{"seconds", seconds, [4]int64{7, 8}, timesChange{{Sec: 7}, {Sec: 8}}},
	} {
		got, err := tt.layout.read(tt.in)
		times, ok := got.(timesChange)
		if tt.want == nil {
			if err != unix.EINVAL && times.valid() {
				t.Errorf("%s: got %v and %v, wanted EINVAL", tt.name, got, err)
			}
			continue
		}
		if !times.valid() {
			t.Errorf("%s: %v is not valid", tt.name, got)
		}
		if err != nil || !ok || times[0] != tt.want[0] || times[1] != tt.want[1] {
			t.Errorf("%s: got %v and %v, wanted %v", tt.name, got, err, tt.want)
		}
	}
}
