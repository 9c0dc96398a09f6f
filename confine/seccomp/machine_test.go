package seccomp

import (
	"encoding/binary"
	"os"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The architectures of the other doors into the kernel: int 0x80 on amd64, and
// 32-bit programs on arm64.
const (
	auditI386 = 0x40000003
	auditARM  = 0x40000028
	x32Bit    = 0x40000000
)

// The answers of a program that does not refuse; the last two are no errnos.
const (
	allow = unix.Errno(0)
	asked = unix.Errno(1 << 16)
	idle  = unix.Errno(1 << 17) // success, and nothing is done
)

// answer is the rule's, as a machine gives it.
func (r Rule) answer() unix.Errno {
	switch {
	case r.Asks():
		return asked
	case r.Answer == nothing:
		return idle
	}
	return r.Answer
}

// machine runs one program as the kernel does.
type machine struct {
	arch  Arch
	audit uint32
	vm    *bpf.VM
	size  int // in instructions
}

// shipped is what is embedded for the architecture.
func shipped(t testing.TB, arch Arch) Archive {
	t.Helper()
	programs, err := os.ReadFile("programs/" + string(arch) + ".filters")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := os.ReadFile("programs/" + string(arch) + ".pfc.gz")
	if err != nil {
		t.Fatal(err)
	}
	return Archive{Programs: string(programs), Texts: string(texts)}
}

func newMachine(t testing.TB, arch Arch, v Variant) *machine {
	t.Helper()
	raw, err := shipped(t, arch).Program(v)
	if err != nil {
		t.Fatal(err)
	}
	instructions, known := bpf.Disassemble(decode(raw))
	if !known {
		t.Fatalf("%s %s: an instruction that the machine does not know", arch, v)
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatalf("%s %s: %v", arch, v, err)
	}
	audit, err := arch.Audit()
	if err != nil {
		t.Fatal(err)
	}
	return &machine{arch: arch, audit: audit, vm: vm, size: len(instructions)}
}

func decode(raw []byte) []bpf.RawInstruction {
	var program []bpf.RawInstruction
	for ; len(raw) >= instruction; raw = raw[instruction:] {
		program = append(program, bpf.RawInstruction{
			Op: binary.LittleEndian.Uint16(raw), Jt: raw[2], Jf: raw[3], K: binary.LittleEndian.Uint32(raw[4:]),
		})
	}
	return program
}

// everyMachine runs a test for every variant on both architectures.
func everyMachine(t *testing.T, test func(t *testing.T, m *machine, v Variant)) {
	for _, arch := range Arches() {
		for _, v := range Variants() {
			t.Run(string(arch)+"/"+v.String(), func(t *testing.T) { test(t, newMachine(t, arch, v), v) })
		}
	}
}

// answer is what the program says to a call; allow for none.
func (m *machine) answer(t testing.TB, audit, number uint32, args [6]uint64) unix.Errno {
	t.Helper()
	verdict, err := m.vm.Run(data(audit, number, args))
	if err != nil {
		t.Fatal(err)
	}
	switch action := uint32(verdict); action & unix.SECCOMP_RET_ACTION_FULL {
	case unix.SECCOMP_RET_ALLOW:
		return allow
	case unix.SECCOMP_RET_USER_NOTIF:
		return asked
	case unix.SECCOMP_RET_ERRNO:
		if action&unix.SECCOMP_RET_DATA == 0 {
			return idle
		}
		return unix.Errno(action & unix.SECCOMP_RET_DATA)
	}
	t.Fatalf("verdict %#x, wanted allow, a notification or an errno", verdict)
	return 0
}

// call is what the program says to a call of its own architecture.
func (m *machine) call(t testing.TB, name string, args [6]uint64) unix.Errno {
	t.Helper()
	number, has := Number(name, m.arch)
	if !has {
		t.Fatalf("%s has no %s", m.arch, name)
	}
	return m.answer(t, m.audit, uint32(number), args)
}

// data is a struct seccomp_data. Its fields are little-endian, and the kernel's
// loads read words of the processor; the machine's loads are big-endian, as for
// packets. So each word is written for the machine, the lower half of an
// argument first.
func data(audit, number uint32, args [6]uint64) []byte {
	words := []uint32{number, audit, 0, 0}
	for _, arg := range args {
		words = append(words, uint32(arg), uint32(arg>>32))
	}
	var b []byte
	for _, w := range words {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}
