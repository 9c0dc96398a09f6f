package confine

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/fact"
)

// Plan is all that a helper does, and what will then hold.
type Plan struct {
	Steps []Step
	// Files are the descriptors that the helper gets: Files[i] is slot i+1.
	// Slot 0 is the helper's own socket.
	Files []*os.File
	// Rules are the Landlock rules that were laid; none where nothing is confined.
	Rules []landlock.Rule
	// Filter is the system call filter; seccomp.None where nothing is confined.
	Filter seccomp.Variant
	// Report says what holds once the helper has answered "ready".
	Report fact.Report

	// Roots are the writable roots that the rules were laid on, opened with O_PATH.
	// The last Private of them are the run's own: its scratch directory.
	Roots   []*os.File
	Private int

	owned []*os.File
}

// Asks reports whether the filter asks a broker. The helper then sends its
// listener before it answers "ready".
func (p *Plan) Asks() bool { return p.Filter.Asks() }

// Close closes what Prepare opened.
func (p *Plan) Close() {
	for _, f := range p.owned {
		f.Close()
	}
	p.owned = nil
}

// Step is one part of a plan, with the reason why it is there and why there.
type Step struct {
	Name  string
	Why   string
	Calls []Call
}

// Call is one system call.
type Call struct {
	Number uintptr
	Args   []Arg // at most six
	// Out is the slot that gets the result, or NoSlot.
	Out Slot
	// Store is where the result is also written, for a call that passes it on.
	Store *Cell
	// Expect is the errno that the call must fail with; zero means that it must
	// succeed.
	Expect unix.Errno
	// Optional lets the call fail without ending the plan.
	Optional bool
}

// Cell is a place in a call's data that a result goes to, as 32 bits.
type Cell struct {
	block *block
	at    int
}

// Slot numbers a descriptor of the helper.
type Slot uint8

// The slots that have a meaning everywhere.
const (
	ControlSlot Slot = 0
	NoSlot      Slot = 0xff
)

type argKind uint8

const (
	argConst argKind = iota
	argSlot
	argData
)

// Arg is one argument of a call: a number, a descriptor's slot, or the address
// of bytes in the payload.
type Arg struct {
	kind  argKind
	value uint64
	block *block
}

// block is bytes in the payload, and where in them addresses of other blocks
// stand.
type block struct {
	data     []byte
	pointers []pointer
	label    string // what a reader of the plan sees
}

type pointer struct {
	at int
	to *block
}

// Int is a number. Negative ones are sign-extended, as the kernel takes them.
func Int(n int) Arg { return Arg{kind: argConst, value: uint64(n)} }

// FD is the descriptor in a slot.
func FD(s Slot) Arg { return Arg{kind: argSlot, value: uint64(s)} }

// Bytes is the address of b.
func Bytes(b []byte) Arg { return Arg{kind: argData, block: bytesBlock(b)} }

func bytesBlock(b []byte) *block { return &block{data: b, label: printable(b)} }

// Str is the address of s, terminated by a NUL byte.
func Str(s string) Arg { return Bytes(append([]byte(s), 0)) }

// List is the address of an array of pointers to strings that ends in NULL, as
// execve takes it.
func List(list []string) Arg {
	array := &block{data: make([]byte, 8*(len(list)+1)), label: fmt.Sprintf("%d strings", len(list))}
	for i, s := range list {
		array.pointers = append(array.pointers, pointer{at: 8 * i, to: Str(s).block})
	}
	return Arg{kind: argData, block: array}
}

// Pointing is the address of a structure that ends in a pointer to inner.
func Pointing(head, inner []byte) Arg {
	return Arg{kind: argData, block: &block{
		data:     append(head[:len(head):len(head)], make([]byte, 8)...),
		pointers: []pointer{{at: len(head), to: bytesBlock(inner)}},
		label:    fmt.Sprintf("%d bytes", len(inner)),
	}}
}

// String shows an argument to a reader of the plan.
func (a Arg) String() string {
	switch a.kind {
	case argSlot:
		return fmt.Sprintf("slot %d", a.value)
	case argData:
		return a.block.label
	}
	return fmt.Sprintf("%#x", a.value)
}

func printable(b []byte) string {
	if s, ok := strings.CutSuffix(string(b), "\x00"); ok && len(s) > 0 && !strings.ContainsRune(s, 0) {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%d bytes", len(b))
}

func call(number uintptr, args ...Arg) Call {
	return Call{Number: number, Args: args, Out: NoSlot}
}
