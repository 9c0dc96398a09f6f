package seccomp

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestComplement compares the blocks with a plain membership test, number by
// number.
func TestComplement(t *testing.T) {
	tests := []struct {
		width int
		keep  []uint64
	}{
		{2, []uint64{2}},
		{4, []uint64{1, 2}},
		{8, nil},
		{8, []uint64{0}},
		{8, []uint64{255}},
		{8, []uint64{9, 13, 49, 54}},
		{8, []uint64{1, 2, 0x10}},
		{8, []uint64{0, 255, 127, 128}},
		{12, []uint64{0, 17, 1, 58, 136, 262}},
		{1, []uint64{0, 1}},
	}
	for _, tt := range tests {
		blocks := complement(tt.width, tt.keep...)
		for n := range uint64(1) << tt.width {
			covering := 0
			for _, b := range blocks {
				if n&b.mask == b.value {
					covering++
				}
			}
			want := 1
			if slices.Contains(tt.keep, n) {
				want = 0
			}
			if covering != want {
				t.Errorf("complement(%d, %d): %d lies in %d blocks, wanted %d", tt.width, tt.keep, n, covering, want)
			}
		}
		if most := max(1, tt.width*len(tt.keep)); len(blocks) > most {
			t.Errorf("complement(%d, %d) has %d blocks, expected at most %d", tt.width, tt.keep, len(blocks), most)
		}
	}
}

// TestTable checks what the generator and the programs rely on.
func TestTable(t *testing.T) {
	for _, r := range Table() {
		core := strings.Contains(r.Call, "rlimit") && r.Answer != unix.EPERM
		if r.Asks() != (r.Answer > 4095) || r.Asks() && r.Group != MetadataAsked || core != (r.Answer == nothing) || r.Why == "" {
			t.Errorf("%s: %s has answer %d and reason %q", r.Group, r, r.Answer, r.Why)
		}
		if _, known := Number(r.Call, AMD64); !known {
			t.Errorf("%s: no such call", r)
		}
		var used [6]bool
		for _, c := range r.When {
			if used[c.Arg] {
				t.Errorf("%s has two conditions on one argument", r)
			}
			used[c.Arg] = true
			if c.Op == Under && (c.Value&^c.Mask != 0 || c.Mask == 0 || c.Mask > lower) {
				t.Errorf("%s: a mask must hold the value and lie in the lower half", r)
			}
		}
		if r.InPrelude() && slices.ContainsFunc(r.When, func(c Cond) bool { return c.Op != Under }) {
			t.Errorf("%s: the prelude has no conditions but on bits", r)
		}
	}
}

// TestNoConflicts: the same call under the same conditions has one answer in
// every variant.
func TestNoConflicts(t *testing.T) {
	for _, v := range Variants() {
		answers := map[string]unix.Errno{}
		for _, r := range Table() {
			if !v.Has(r.Group) {
				continue
			}
			if other, seen := answers[r.String()]; seen && other != r.answer() {
				t.Errorf("%s: %s is answered %d and %d", v, r, other, r.answer())
			}
			answers[r.String()] = r.answer()
		}
	}
}

// TestCallsOfOneArchitecture names the calls that need no rule on arm64, so that
// none is skipped there by a slip of the table of numbers.
func TestCallsOfOneArchitecture(t *testing.T) {
	want := strings.Fields("chmod chown creat futimesat ioperm iopl lchown mknod modify_ldt open utime utimes")
	var got []string
	for _, r := range Table() {
		if _, has := Number(r.Call, ARM64); !has {
			got = append(got, r.Call)
		}
	}
	slices.Sort(got)
	if got = slices.Compact(got); !slices.Equal(got, want) {
		t.Errorf("calls that arm64 lacks: %q, wanted %q", got, want)
	}
}

// TestGroupsAreUsed: every group has rules and is in some variant.
func TestGroupsAreUsed(t *testing.T) {
	for _, g := range Groups() {
		if !slices.ContainsFunc(Table(), func(r Rule) bool { return r.Group == g }) {
			t.Errorf("group %s has no rule", g)
		}
		if !slices.ContainsFunc(Variants(), func(v Variant) bool { return v.Has(g) }) {
			t.Errorf("group %s is in no variant", g)
		}
	}
}
