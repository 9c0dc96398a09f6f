package broker

import (
	"fmt"
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

func TestParseIdentity(t *testing.T) {
	const head = "Name:\tUid: 9\n"
	for _, tt := range []struct {
		name, status string
		want         *identity // nil is an error
	}{
		{"usual", head + "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \nCapEff:\t00000000000000ff\n", &identity{4, 8, []uint32{9, 10}, 0xff}},
		{"no groups", "Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t \nCapEff:\t000001ffffffffff\n", &identity{effective: 1<<41 - 1}},
		{"the largest numbers", "Uid:\t0\t0\t0\t4294967294\nGid:\t0\t0\t0\t4294967294\nCapEff:\t0\n", &identity{uid: 1<<32 - 2, gid: 1<<32 - 2}},
		{"three ids", "Uid:\t1\t2\t3\nGid:\t5\t6\t7\t8\nCapEff:\t0\n", nil},
		{"no gid", "Uid:\t1\t2\t3\t4\nCapEff:\t0\n", nil},
		{"no capabilities", "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\n", nil},
		{"a group that is none", "Uid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\tx\nCapEff:\t0\n", nil},
		{"a uid that is too large", "Uid:\t1\t2\t3\t4294967296\nGid:\t5\t6\t7\t8\nCapEff:\t0\n", nil},
		{"nothing", "", nil},
	} {
		got, err := parseIdentity([]byte(tt.status))
		if (err != nil) != (tt.want == nil) || err == nil && !reflect.DeepEqual(got, *tt.want) {
			t.Errorf("%s: got %+v and %v, wanted %+v", tt.name, got, err, tt.want)
		}
	}
}

func TestUniform(t *testing.T) {
	for ids, want := range map[string]bool{"5\t5\t5\t5": true, "5 5 5 6": false, "6 5 5 5": false, "5 6 5 6": false, "": false} {
		if got := uniform(ids); got != want {
			t.Errorf("%q: got %v", ids, got)
		}
	}
}

// TestFacts: each once, and no more than are kept.
func TestFacts(t *testing.T) {
	var f facts
	for range 2 {
		for i := range maxFacts + 10 {
			f.add(fact.Denial{Path: fmt.Sprint(i)})
		}
	}
	list, dropped := f.all()
	if len(list) != maxFacts || dropped != 20 {
		t.Errorf("got %d facts and %d dropped, wanted %d and 20", len(list), dropped, maxFacts)
	}
	list[0].Path = "changed"
	if again, _ := f.all(); again[0].Path != "0" {
		t.Errorf("the list is not a copy: %+v", again[0])
	}
}

// TestOrdinary: what the kernel would answer by itself.
func TestOrdinary(t *testing.T) {
	const owner, group, second, other = 1000, 1000, 50, 2000
	p := pinOf(t, "/", 0) // for calls that look at the pin's descriptor
	p.stat.Uid, p.stat.Gid, p.stat.Mode = owner, group, unix.S_IFREG|0o600
	link := *p
	link.stat.Mode = unix.S_IFLNK | 0o777
	user := func(uid uint32, capabilities ...int) identity {
		who := identity{uid: uid, gid: group, groups: []uint32{second}}
		for _, c := range capabilities {
			who.effective |= 1 << c
		}
		return who
	}
	times := timesChange{{Sec: 1}, {Sec: 1}}
	half := timesChange{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_OMIT}}
	for _, tt := range []struct {
		name   string
		change change
		pin    *pin
		who    identity
		want   unix.Errno
	}{
		{"owner's mode", modeChange(0o600), p, user(owner), 0},
		{"other's mode", modeChange(0o600), p, user(other), unix.EPERM},
		{"mode with CAP_FOWNER", modeChange(0o600), p, user(other, unix.CAP_FOWNER), 0},
		{"mode with another capability", modeChange(0o600), p, user(other, unix.CAP_CHOWN), unix.EPERM},
		{"a link's mode", modeChange(0o600), &link, user(owner), unix.EOPNOTSUPP},
		{"nothing new", ownerChange{unchanged, unchanged}, p, user(other), 0},
		{"the same owner", ownerChange{owner, unchanged}, p, user(owner), 0},
		{"the same owner, by another", ownerChange{owner, unchanged}, p, user(other), unix.EPERM},
		{"another owner", ownerChange{other, unchanged}, p, user(owner), unix.EPERM},
		{"another owner with CAP_CHOWN", ownerChange{other, 7}, p, user(other, unix.CAP_CHOWN), 0},
		{"CAP_FOWNER is not enough", ownerChange{other, unchanged}, p, user(owner, unix.CAP_FOWNER), unix.EPERM},
		{"own group", ownerChange{unchanged, group}, p, user(owner), 0},
		{"second group", ownerChange{unchanged, second}, p, user(owner), 0},
		{"a strange group", ownerChange{unchanged, 7}, p, user(owner), unix.EPERM},
		{"a group, by another", ownerChange{unchanged, group}, p, user(other), unix.EPERM},
		{"owner's times", times, p, user(owner), 0},
		{"other's times", times, p, user(other), unix.EPERM},
		{"half of now", half, p, user(other), unix.EPERM},
		{"times with CAP_FOWNER", times, p, user(other, unix.CAP_FOWNER), 0},
		{"security without privilege", attributeChange{name: "security.x"}, p, user(owner), unix.EPERM},
		{"security with CAP_SYS_ADMIN", attributeChange{name: "security.x"}, p, user(other, unix.CAP_SYS_ADMIN), 0},
		{"file capabilities", attributeChange{name: "security.capability"}, p, user(owner), unix.EPERM},
		{"file capabilities with CAP_SETFCAP", attributeChange{name: "security.capability"}, p, user(other, unix.CAP_SETFCAP), 0},
		{"a family that is none", attributeChange{name: "nonsense.x"}, p, user(owner), unix.EOPNOTSUPP},
	} {
		if got := tt.change.ordinary(tt.pin, tt.who); got != tt.want {
			t.Errorf("%s: got %v, wanted %v", tt.name, got, tt.want)
		}
	}
}

// TestForbidden: what no root makes lawful.
func TestForbidden(t *testing.T) {
	file, dir := &pin{stat: unix.Stat_t{Mode: unix.S_IFREG}}, &pin{stat: unix.Stat_t{Mode: unix.S_IFDIR}}
	for _, tt := range []struct {
		change change
		pin    *pin
		want   string
	}{
		{modeChange(0o755), file, ""},
		{modeChange(0o1755), file, ""},
		{modeChange(0o4755), file, ruleSetID},
		{modeChange(0o2755), file, ruleSetID},
		{modeChange(0o2755), dir, ""},
		{attributeChange{name: "user.x"}, file, ""},
		{attributeChange{name: "security.capability"}, file, ruleSecurity},
		{attributeChange{name: "security.", remove: true}, dir, ruleSecurity},
		{attributeChange{name: "securityx"}, dir, ""},
		{ownerChange{0, 0}, file, ""},
		{timesChange(nil), file, ""},
	} {
		if got := tt.change.forbidden(tt.pin); got != tt.want {
			t.Errorf("%+v: got %q, wanted %q", tt.change, got, tt.want)
		}
	}
}
