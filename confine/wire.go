package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// The wire form of a plan, little-endian throughout:
//
//	header       magic u64, calls u32, relocations u32, slots u32, zero u32, size u64
//	calls        64 bytes each: number u32, step u16, out u8, flags u8, expect u16,
//	             kinds u16 (two bits an argument), store u32 (where in the payload the
//	             result also goes, as 32 bits; 0 for nowhere), six arguments u64
//	relocations  u64 each: where in the payload a pointer stands, itself an
//	             offset that the helper turns into an address
//	data         strings, structures and pointer arrays
//
// Offsets count from the start of the payload. Records have a fixed size, so
// that a helper without a library can walk them.
const (
	wireMagic  = 0x314e414c50584253 // "SBXPLAN1"
	headerSize = 32
	callSize   = 64
	relocSize  = 8

	flagOptional = 1
)

// maxPayload bounds a payload: an argument list of the kernel's largest size,
// and room.
const maxPayload = 16 << 20

var le = binary.LittleEndian

// Encode returns the plan's wire form.
func (p *Plan) Encode() []byte {
	var e encoder
	for i, step := range p.Steps {
		for _, c := range step.Calls {
			e.calls = append(e.calls, wireCall{Call: c, step: i})
		}
	}
	return e.encode(slotCount(p))
}

// slotCount is one more than the highest slot that any call names.
func slotCount(p *Plan) int {
	count := len(p.Files) + 1
	for _, step := range p.Steps {
		for _, c := range step.Calls {
			if c.Out != NoSlot {
				count = max(count, int(c.Out)+1)
			}
		}
	}
	return count
}

type wireCall struct {
	Call
	step int
}

type encoder struct {
	calls  []wireCall
	base   int // where data starts
	data   []byte
	relocs []int
	laid   map[*block]uint64
}

func (e *encoder) encode(slots int) []byte {
	e.laid = map[*block]uint64{}
	e.base = headerSize + callSize*len(e.calls) + relocSize*e.countRelocs()
	var records []byte
	for _, c := range e.calls {
		records = e.appendCall(records, c)
	}
	out := le.AppendUint64(nil, wireMagic)
	for _, n := range []int{len(e.calls), len(e.relocs), slots, 0} {
		out = le.AppendUint32(out, uint32(n))
	}
	out = le.AppendUint64(out, uint64(e.base+len(e.data)))
	out = append(out, records...)
	for _, at := range e.relocs {
		out = le.AppendUint64(out, uint64(at))
	}
	return append(out, e.data...)
}

func (e *encoder) countRelocs() int {
	counted := map[*block]bool{}
	n := 0
	for _, c := range e.calls {
		for _, a := range c.Args {
			n += countPointers(a.block, counted)
		}
	}
	return n
}

// countPointers counts those in a block and in what it points to, each block once.
func countPointers(b *block, counted map[*block]bool) int {
	if b == nil || counted[b] {
		return 0
	}
	counted[b] = true
	n := len(b.pointers)
	for _, p := range b.pointers {
		n += countPointers(p.to, counted)
	}
	return n
}

func (e *encoder) appendCall(out []byte, c wireCall) []byte {
	var kinds uint16
	var values [6]uint64
	for i, a := range c.Args {
		kinds |= uint16(a.kind) << (2 * i)
		values[i] = e.value(a)
	}
	out = le.AppendUint32(out, uint32(c.Number))
	out = le.AppendUint16(out, uint16(c.step))
	out = append(out, byte(c.Out), flags(c.Call))
	out = le.AppendUint16(out, uint16(c.Expect))
	out = le.AppendUint16(out, kinds)
	out = le.AppendUint32(out, e.store(c.Store))
	for _, v := range values {
		out = le.AppendUint64(out, v)
	}
	return out
}

func flags(c Call) byte {
	if c.Optional {
		return flagOptional
	}
	return 0
}

func (e *encoder) store(c *Cell) uint32 {
	if c == nil {
		return 0
	}
	return uint32(e.lay(c.block)) + uint32(c.at)
}

func (e *encoder) value(a Arg) uint64 {
	if a.kind == argData {
		return e.lay(a.block)
	}
	return a.value
}

// lay puts a block into the payload once, behind what it points to, on an
// eight-byte boundary: some are structures.
func (e *encoder) lay(b *block) uint64 {
	if at, done := e.laid[b]; done {
		return at
	}
	data := b.data
	if len(b.pointers) > 0 {
		data = slices.Clone(data)
	}
	for _, p := range b.pointers {
		le.PutUint64(data[p.at:], e.lay(p.to))
	}
	for (e.base+len(e.data))%8 != 0 {
		e.data = append(e.data, 0)
	}
	at := e.base + len(e.data)
	e.data = append(e.data, data...)
	for _, p := range b.pointers {
		e.relocs = append(e.relocs, at+p.at)
	}
	e.laid[b] = uint64(at)
	return uint64(at)
}

// program is a plan as the helper reads it, with every count and offset
// checked.
type program struct {
	calls []record
	slots int
}

type record struct {
	number   uintptr
	step     uint16
	out      Slot
	optional bool
	expect   uint16
	kinds    uint16
	store    uint32
	args     [6]uint64
}

func (r record) kind(i int) argKind { return argKind(r.kinds >> (2 * i) & 3) }

var errPlan = errors.New("the plan is malformed")

// decode checks a payload and reads its calls. relocate is told where each
// pointer stands and what offset it holds.
func decode(b []byte, relocate func(at int, offset uint64)) (program, error) {
	if len(b) < headerSize || le.Uint64(b) != wireMagic {
		return program{}, fmt.Errorf("%w: no header", errPlan)
	}
	calls, relocs, slots := le.Uint32(b[8:]), le.Uint32(b[12:]), le.Uint32(b[16:])
	size := uint64(len(b))
	data := headerSize + callSize*uint64(calls) + relocSize*uint64(relocs)
	if le.Uint64(b[24:]) != size || data > size || slots == 0 || slots > uint32(NoSlot) {
		return program{}, fmt.Errorf("%w: %d calls, %d relocations and %d slots in %d bytes", errPlan, calls, relocs, slots, size)
	}
	p := program{slots: int(slots)}
	for i := range uint64(calls) {
		r := readRecord(b[headerSize+callSize*i:])
		if err := r.check(data, size, slots); err != nil {
			return program{}, err
		}
		p.calls = append(p.calls, r)
	}
	return p, readRelocs(b, data-relocSize*uint64(relocs), data, relocate)
}

func readRecord(b []byte) record {
	r := record{
		number:   uintptr(le.Uint32(b)),
		step:     le.Uint16(b[4:]),
		out:      Slot(b[6]),
		optional: b[7]&flagOptional != 0,
		expect:   le.Uint16(b[8:]),
		kinds:    le.Uint16(b[10:]),
		store:    le.Uint32(b[12:]),
	}
	for i := range r.args {
		r.args[i] = le.Uint64(b[16+8*i:])
	}
	return r
}

func (r record) check(data, size uint64, slots uint32) error {
	if r.out != NoSlot && uint32(r.out) >= slots {
		return fmt.Errorf("%w: result for slot %d of %d", errPlan, r.out, slots)
	}
	if at := uint64(r.store); at != 0 && (at < data || at > size-4 || at%4 != 0) {
		return fmt.Errorf("%w: a result stored at %d", errPlan, at)
	}
	for i, v := range r.args {
		switch r.kind(i) {
		case argConst:
		case argSlot:
			if v >= uint64(slots) {
				return fmt.Errorf("%w: slot %d of %d", errPlan, v, slots)
			}
		case argData:
			if v < data || v >= size {
				return fmt.Errorf("%w: offset %d outside the data", errPlan, v)
			}
		default:
			return fmt.Errorf("%w: unknown kind of argument", errPlan)
		}
	}
	return nil
}

func readRelocs(b []byte, from, data uint64, relocate func(at int, offset uint64)) error {
	size := uint64(len(b))
	for at := from; at < data; at += relocSize {
		pointer := le.Uint64(b[at:])
		if pointer < data || pointer > size-8 || pointer%8 != 0 {
			return fmt.Errorf("%w: a pointer at %d", errPlan, pointer)
		}
		target := le.Uint64(b[pointer:])
		if target < data || target >= size {
			return fmt.Errorf("%w: a pointer to %d", errPlan, target)
		}
		relocate(int(pointer), target)
	}
	return nil
}
