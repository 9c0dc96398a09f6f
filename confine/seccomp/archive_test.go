package seccomp

import (
	"strings"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// TestNoProgram: whatever is wrong with an archive, there is an error and never
// an empty filter.
func TestNoProgram(t *testing.T) {
	v, last := Variants()[0], Variants()[len(Variants())-1]
	good := nativePrograms
	tests := []struct {
		name    string
		archive string
		variant Variant
	}{
		{"no filter", good, None},
		{"an unreachable set of groups", good, of(Truncate)},
		{"an architecture without programs", "", v},
		{"cut in the index", good[:40], v},
		{"cut in the dictionary", good[:6000], v},
		{"cut in the programs", good[:len(good)/2], last},
		{"no dictionary", strings.Replace(good, "dictionary 5", "dictionary 6", 1), v},
		{"a negative length", strings.Replace(good, "dictionary 5", "dictionary -", 1), v},
		{"a program that is empty", v.String() + " 1\n" + v.String() + " 2\n\nx\x03\x00", v},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			program, err := Archive{Programs: tt.archive}.Program(tt.variant)
			if err == nil || program != nil {
				t.Errorf("got %d bytes and error %v, wanted only an error", len(program), err)
			}
		})
	}
	if text, err := PFC(None); err == nil {
		t.Errorf("None has the text %q", text)
	}
	if _, err := (Archive{Texts: nativeTexts[:len(nativeTexts)/2]}).PFC(last); err == nil {
		t.Error("a text came out of half an archive")
	}
}

// TestPFC: the text names what the rules are about.
func TestPFC(t *testing.T) {
	for _, v := range Variants() {
		text, err := PFC(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range v.Rules() {
			_, has := Number(r.Call, nativeArch)
			if has && !strings.Contains(text, "# filter for syscall \""+r.Call+"\" (") {
				t.Errorf("the text of %s does not name %s", v, r.Call)
			}
		}
		if strings.Contains(text, TextMark) {
			t.Errorf("the text of %s has a line of the archive in it", v)
		}
	}
	asking, err := PFC(Choose(policy.Policy{}, Options{ABI: 9, Metadata: Ask}))
	if n := strings.Count(asking, "action NOTIFY;"); err != nil || n != len(metadataCalls(t)) {
		t.Errorf("%d rules are shown to ask, wanted %d (%v)", n, len(metadataCalls(t)), err)
	}
	closed, err := PFC(Choose(policy.Policy{}, Options{ABI: 9}))
	if err != nil || !strings.Contains(closed, `"chmod`) && !strings.Contains(closed, `"fchmod`) {
		t.Errorf("read-only does not close metadata: %v", err)
	}
}
