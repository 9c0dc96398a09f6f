package keeper

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestName(t *testing.T) {
	self, err := NewName()
	if err != nil {
		t.Fatal(err)
	}
	if self.PID != uint64(os.Getpid()) || self.Start == 0 || self.Namespace == 0 {
		t.Errorf("the name of this process is %+v", self)
	}
	back, ok := ParseName(self.String())
	if !ok || back != self {
		t.Errorf("%q came back as %+v", self, back)
	}
	if other, _ := NewName(); other.String() == self.String() {
		t.Errorf("two names are %q", self)
	}
	if len(self.String()) > 48 {
		t.Errorf("name %q has %d bytes: sockets below it get too long", self, len(self.String()))
	}
}

func TestParseNameRefuses(t *testing.T) {
	for _, s := range []string{"", "x", "----", "12345678-1-1-1-", "1234567-1-1-1-a", "12345678-!-1-1-a", "12345678-1-1-1-a-b", "12345678--1-1-a"} {
		if n, ok := ParseName(s); ok {
			t.Errorf("ParseName(%q) = %+v", s, n)
		}
	}
}

func TestDead(t *testing.T) {
	self, err := NewName()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("/bin/true")
	if err := child.Run(); err != nil {
		t.Fatal(err)
	}
	change := func(f func(*Name)) Name { n := self; f(&n); return n }
	for _, tt := range []struct {
		name string
		n    Name
		dead bool
	}{
		{"this process", self, false},
		{"a process that ended", change(func(n *Name) { n.PID = uint64(child.Process.Pid) }), true},
		{"a number that was given again", change(func(n *Name) { n.Start++ }), true},
		{"another boot", change(func(n *Name) { n.Boot = "00000000"; n.Start++ }), false},
		{"another namespace", change(func(n *Name) { n.Namespace++; n.Start++ }), false},
	} {
		if got := tt.n.Dead(self); got != tt.dead {
			t.Errorf("%s: dead is %v, wanted %v", tt.name, got, tt.dead)
		}
	}
}
