package seccomp

import (
	"math/bits"
	"slices"
)

// block is the set of numbers n with n&mask == value.
type block struct{ mask, value uint64 }

// complement covers every number of that many bits, except those in keep, with
// blocks that do not overlap.
//
// An allow-list inside a default of allow can only be said as the complement,
// and libseccomp takes no ranges and no two conditions on one argument: a block
// is one masked comparison. It needs at most one block for each bit of each
// number that is kept.
func complement(width int, keep ...uint64) []block {
	return cover(block{}, width, keep)
}

// cover splits the block in halves, bit by bit from the top, until one holds
// nothing of keep or a single number.
func cover(b block, bit int, keep []uint64) []block {
	kept := slices.ContainsFunc(keep, func(n uint64) bool { return n&b.mask == b.value })
	switch {
	case !kept:
		return []block{b}
	case bit == 0:
		return nil
	}
	half := uint64(1) << (bit - 1)
	zero := block{mask: b.mask | half, value: b.value}
	one := block{mask: b.mask | half, value: b.value | half}
	return append(cover(zero, bit-1, keep), cover(one, bit-1, keep)...)
}

// intExcept holds for an int argument that is none of the values: a block for
// each part of what lies between them, and one comparison for all that is above,
// where blocks would need one for each upper bit.
func intExcept(arg int, keep ...uint64) [][]Cond {
	largest := slices.Max(keep)
	var alternatives [][]Cond
	for _, b := range complement(bits.Len64(largest), keep...) {
		if b.value < largest {
			alternatives = append(alternatives, []Cond{under(arg, b.mask, b.value)})
		}
	}
	return append(alternatives, []Cond{atLeast(arg, largest+1)})
}

// fieldExcept holds for an argument whose lowest bits are none of the values.
func fieldExcept(arg, width int, keep ...uint64) [][]Cond {
	var alternatives [][]Cond
	for _, b := range complement(width, keep...) {
		alternatives = append(alternatives, []Cond{under(arg, b.mask, b.value)})
	}
	return alternatives
}
