package confine

import (
	"bytes"
	"errors"
	"testing"

	"golang.org/x/sys/unix"
)

// sample has every kind of argument, a result slot, an expectation and an
// optional call.
func sample() *Plan {
	open := call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), Str("/x"), Int(1))
	open.Out, open.Optional = 3, true
	refuse := call(unix.SYS_READ, FD(3))
	refuse.Expect = unix.EACCES
	refuse.Args = append(refuse.Args, Pointing([]byte{1, 0, 0, 0, 0, 0, 0, 0}, []byte("inner\x00")))
	return &Plan{Steps: []Step{
		{Name: "one", Calls: []Call{call(unix.SYS_SETSID), open}},
		{Name: "two", Calls: []Call{refuse, call(unix.SYS_EXECVE, Str("/bin/true"), List([]string{"true", "arg"}), List(nil))}},
	}}
}

// noRelocation ignores the pointers.
func noRelocation(int, uint64) {}

func TestEncodeDecode(t *testing.T) {
	wire := sample().Encode()
	relocated := map[int]uint64{}
	p, err := decode(wire, func(at int, offset uint64) { relocated[at] = offset })
	if err != nil {
		t.Fatal(err)
	}
	if len(p.calls) != 4 || p.slots != 4 {
		t.Fatalf("got %d calls and %d slots, wanted 4 and 4", len(p.calls), p.slots)
	}
	at := func(r record, i int) string {
		rest := wire[r.args[i]:]
		return string(rest[:bytes.IndexByte(rest, 0)])
	}
	open, refuse, exec := p.calls[1], p.calls[2], p.calls[3]
	if open.args[0] != uint64(0xffffffffffffff9c) || at(open, 1) != "/x" || open.out != 3 || !open.optional || open.step != 0 {
		t.Errorf("the open call came back as %+v", open)
	}
	if refuse.kind(0) != argSlot || refuse.args[0] != 3 || refuse.expect != uint16(unix.EACCES) || refuse.step != 1 {
		t.Errorf("the refused call came back as %+v", refuse)
	}
	if at(exec, 0) != "/bin/true" || le.Uint64(wire[exec.args[2]:]) != 0 {
		t.Errorf("the exec call came back as %+v", exec)
	}
	argv := exec.args[1]
	for i, want := range []string{"true", "arg"} {
		offset := relocated[int(argv)+8*i]
		got := wire[offset : bytes.IndexByte(wire[offset:], 0)+int(offset)]
		if string(got) != want {
			t.Errorf("argument %d is %q, wanted %q", i, got, want)
		}
	}
	if len(relocated) != 3 {
		t.Errorf("got %d relocations, wanted 3", len(relocated))
	}
	inner := relocated[int(refuse.args[1])+8]
	if string(wire[inner:inner+5]) != "inner" || wire[refuse.args[1]] != 1 {
		t.Errorf("the structure of %+v points to %d", refuse, inner)
	}
}

// TestDecodeRefuses: a helper that trusted a count would write outside the
// payload or hand the kernel a wild pointer.
func TestDecodeRefuses(t *testing.T) {
	put32 := func(at int, v uint32) func([]byte) { return func(b []byte) { le.PutUint32(b[at:], v) } }
	put64 := func(at int, v uint64) func([]byte) { return func(b []byte) { le.PutUint64(b[at:], v) } }
	const second = headerSize + callSize
	relocs := headerSize + 4*callSize
	tests := []struct {
		name   string
		change func([]byte)
	}{
		{"magic", put64(0, 1)},
		{"too many calls", put32(8, 1<<31)},
		{"too many relocations", put32(12, 1<<31)},
		{"no slots", put32(16, 0)},
		{"too many slots", put32(16, 300)},
		{"another size", put64(24, 7)},
		{"a result slot that is not there", func(b []byte) { b[second+6] = 9 }},
		{"an argument slot that is not there", put64(headerSize+2*callSize+16, 99)},
		{"data before the data", put64(second+16+8, 8)},
		{"data behind the end", put64(second+16+8, 1<<40)},
		{"an unknown kind", func(b []byte) { b[second+10] = 0xff }},
		{"a pointer in the records", put64(relocs, headerSize)},
		{"a pointer over the end", put64(relocs, uint64(len(sample().Encode())-4))},
		{"a pointer that is not aligned", put64(relocs, le.Uint64(sample().Encode()[relocs:])+1)},
		{"a pointer to nowhere", put64(int(le.Uint64(sample().Encode()[relocs:])), 3)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wire := sample().Encode()
			tt.change(wire)
			if _, err := decode(wire, noRelocation); !errors.Is(err, errPlan) {
				t.Errorf("got error %v, wanted %v", err, errPlan)
			}
		})
	}
	for n := range sample().Encode() {
		if _, err := decode(sample().Encode()[:n], noRelocation); err == nil {
			t.Fatalf("a payload cut at %d bytes was taken", n)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(sample().Encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, wire []byte) {
		p, err := decode(wire, func(at int, offset uint64) {
			if at < headerSize || at > len(wire)-8 || offset >= uint64(len(wire)) {
				t.Fatalf("relocation at %d to %d in %d bytes", at, offset, len(wire))
			}
		})
		if err != nil {
			return
		}
		for _, r := range p.calls {
			for i, v := range r.args {
				if r.kind(i) == argSlot && v >= uint64(p.slots) || r.kind(i) == argData && v >= uint64(len(wire)) {
					t.Fatalf("argument %d of %+v is out of bounds", i, r)
				}
			}
		}
	})
}

func TestParseAnswer(t *testing.T) {
	for _, tt := range []struct {
		name string
		wire []byte
		want Answer
		ok   bool
	}{
		{"ready", readyMessage(), Answer{Ready: true}, true},
		{"failed", appendMessage(kindFailed, 7, uint32(unix.EPERM)), Answer{Step: 7, Errno: unix.EPERM}, true},
		{"failed before the first step", appendMessage(kindFailed, noStep, uint32(unix.EPROTO)), Answer{Step: -1, Errno: unix.EPROTO}, true},
		{"unknown", appendMessage(9, 0, 0), Answer{}, false},
		{"short", readyMessage()[:11], Answer{}, false},
		{"empty", nil, Answer{}, false},
	} {
		got, err := ParseAnswer(tt.wire)
		if got != tt.want || (err == nil) != tt.ok {
			t.Errorf("%s: got %+v, %v; wanted %+v", tt.name, got, err, tt.want)
		}
	}
}
