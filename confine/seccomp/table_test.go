package seccomp

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestRows runs every row in every program, the refused ones also with bits that
// the kernel throws away.
func TestRows(t *testing.T) {
	rows := allRows()
	everyMachine(t, func(t *testing.T, m *machine, v Variant) {
		for _, r := range rows {
			if _, has := Number(r.call, m.arch); !has {
				continue // TestCallsOfOneArchitecture has the list
			}
			if got := m.call(t, r.call, r.args); got != r.in(v) {
				t.Errorf("%s(%#x) gave %d, wanted %d", r.call, r.args, got, r.in(v))
			}
		}
		t.Logf("%d instructions", m.size)
	})
}

func TestHighBits(t *testing.T) {
	rows := slices.Concat(handRows(), terminalRows(), oneOfEachRule())
	everyMachine(t, func(t *testing.T, m *machine, v Variant) {
		on := map[string][]Rule{}
		for _, rule := range v.Rules() {
			on[rule.Call] = append(on[rule.Call], rule)
		}
		for _, r := range rows {
			if _, has := Number(r.call, m.arch); !has || r.in(v) == allow {
				continue
			}
			for _, args := range highBits(r.args) {
				got := m.call(t, r.call, args)
				// A high bit can make a stricter rule of the call match as well.
				if got == allow || got != r.in(v) && !slices.Contains(answers(on[r.call], args), got) {
					t.Errorf("%s(%#x) gave %d, wanted %d", r.call, args, got, r.in(v))
				}
			}
		}
	})
}

// highBits returns the arguments with one bit of each upper half turned on, each
// alone and all together, and with garbage there.
func highBits(args [6]uint64) [][6]uint64 {
	all, garbage := args, args
	lists := [][6]uint64{}
	for i := range args {
		one := args
		one[i] |= 1 << 32
		all[i] |= 1 << 32
		garbage[i] |= 0xdeadbeef << 32
		lists = append(lists, one)
	}
	return append(lists, all, garbage)
}

// oneOfEachRule is a row for each rule.
func oneOfEachRule() []row {
	all := allRows()
	var rows []row
	for _, rule := range Table() {
		if i := slices.IndexFunc(all, rule.isTestedBy); i >= 0 {
			rows = append(rows, all[i])
		}
	}
	return rows
}

// isTestedBy reports whether the row would be answered otherwise without the
// rule, or at least without it and those like it.
func (r Rule) isTestedBy(by row) bool {
	return r.Call == by.call && r.answer() == by.in(of(r.Group)) && r.Matches(by.args)
}

func allRows() []row {
	return slices.Concat(handRows(), rowsOfIoctl(), rowsOfSocket())
}

// TestEveryRuleHasARow counts the rules that no row would catch if they were
// gone from a program.
func TestEveryRuleHasARow(t *testing.T) {
	rows, untested := allRows(), 0
	for _, rule := range Table() {
		if !slices.ContainsFunc(rows, rule.isTestedBy) {
			untested++
			t.Errorf("%s: %s has no row", rule.Group, rule)
		}
	}
	t.Logf("%d rules, %d without a row, %d rows", len(Table()), untested, len(rows))
}

// TestOtherArchitectures: nothing but the architecture of the program, and no
// number that the project has not read.
func TestOtherArchitectures(t *testing.T) {
	everyMachine(t, func(t *testing.T, m *machine, v Variant) {
		for _, n := range numbersToTry() {
			for _, audit := range []uint32{auditI386, auditARM, m.audit ^ 1, 0} {
				if got := m.answer(t, audit, n, a{}); got != unix.ENOSYS {
					t.Errorf("architecture %#x, number %d gave %d, wanted ENOSYS", audit, n, got)
				}
			}
			if got := m.answer(t, m.audit, x32Bit|n, a{}); got != unix.ENOSYS {
				t.Errorf("x32 number %d gave %d, wanted ENOSYS", n, got)
			}
		}
		for _, n := range []uint32{NewestCall + 1, NewestCall + 2, 512, 547, 1 << 16, 1<<31 - 1, 1 << 31, 1<<32 - 2} {
			if got := m.answer(t, m.audit, n, a{}); got != unix.ENOSYS {
				t.Errorf("number %d gave %d, wanted ENOSYS", n, got)
			}
		}
		if got := m.answer(t, m.audit, 1<<32-1, a{}); got != allow {
			t.Errorf("a call that a tracer skips gave %d, wanted it left to the tracer", got)
		}
	})
}

// numbersToTry are read, write, close and every number near the top.
func numbersToTry() []uint32 {
	numbers := []uint32{0, 1, 2, 3, 57, 63, 64, 101}
	for n := uint32(NewestLibseccomp - 2); n < NewestCall+10; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// TestCallsOfNoRule: every other call that either architecture knows is allowed.
func TestCallsOfNoRule(t *testing.T) {
	everyMachine(t, func(t *testing.T, m *machine, v Variant) {
		ruled := map[string]bool{}
		for _, r := range v.Rules() {
			ruled[r.Call] = true
		}
		for _, c := range calls {
			number, has := Number(c.call, m.arch)
			if !has || ruled[c.call] || number > NewestCall {
				continue
			}
			for _, args := range []a{{}, {minusOne, minusOne, minusOne, minusOne, minusOne, minusOne}} {
				if got := m.call(t, c.call, args); got != allow {
					t.Errorf("%s(%#x) gave %d, wanted it allowed", c.call, args, got)
				}
			}
		}
	})
}

// TestSize keeps programs far from the kernel's limit of 4096 and the longest
// well under 1000 instructions.
func TestSize(t *testing.T) {
	for _, arch := range Arches() {
		for _, v := range Variants() {
			if m := newMachine(t, arch, v); m.size > 750 {
				t.Errorf("%s %s has %d instructions", arch, v, m.size)
			}
		}
	}
}
