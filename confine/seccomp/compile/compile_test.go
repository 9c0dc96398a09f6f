package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// requireRecorded skips where another libseccomp is installed than the one that
// made the programs: its programs differ and are not what is tested. The feature
// goes by the name of a program that nobody has.
func requireRecorded(t *testing.T) {
	t.Helper()
	recorded := strings.TrimSpace(string(read(t, inPrograms(versionFile))))
	if installed := libseccompVersion(); installed != recorded {
		t.Logf("libseccomp %s is installed, the programs were made by %s", installed, recorded)
		kerneltest.Require(t, kerneltest.Program("libseccomp-"+recorded))
	}
}

// TestRegenerate compiles everything again. Programs and texts are compared
// unpacked, because another version of Go may pack them otherwise.
func TestRegenerate(t *testing.T) {
	requireRecorded(t)
	for _, arch := range seccomp.Arches() {
		all, err := compileAll(arch)
		if err != nil {
			t.Fatal(err)
		}
		archive := shipped(t, arch)
		for _, c := range all {
			if program, err := archive.Program(c.variant); err != nil || !bytes.Equal(program, c.program) {
				t.Errorf("%s: program %s differs (%v): run go generate ./confine/seccomp", arch, c.variant, err)
			}
			if text, err := archive.PFC(c.variant); err != nil || text != c.text {
				t.Errorf("%s: text %s differs (%v): run go generate ./confine/seccomp", arch, c.variant, err)
			}
		}
		for name, content := range readable(all, arch) {
			if !bytes.Equal(read(t, name), content) {
				t.Errorf("%s differs: run go generate ./confine/seccomp", name)
			}
		}
		index, _, _ := strings.Cut(archive.Programs, "\n\n")
		if lines := strings.Count(index, "\n") + 1; lines != len(all)+1 {
			t.Errorf("%s: the archive has %d parts, wanted a dictionary and %d programs", arch, lines, len(all))
		}
	}
}

// TestNumbers compares the tables of call numbers with what the sources of
// golang.org/x/sys/unix say today.
func TestNumbers(t *testing.T) {
	files, err := numbersFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if !bytes.Equal(read(t, filepath.Join(parent, name)), content) {
			t.Errorf("%s differs: run go generate ./confine/seccomp", name)
		}
	}
}

// TestNothingElse: the directory has what write makes and no left-over.
func TestNothingElse(t *testing.T) {
	want := map[string]bool{versionFile: true}
	for _, arch := range seccomp.Arches() {
		for _, suffix := range []string{".filters", ".pfc.gz", "-deny.pfc", "-allow.pfc", "-ask.pfc"} {
			want[string(arch)+suffix] = true
		}
	}
	entries, err := os.ReadDir(inPrograms(""))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if wanted := slices.Sorted(maps.Keys(want)); !slices.Equal(got, wanted) {
		t.Errorf("programs has %q, wanted %q", got, wanted)
	}
}

// TestReadableTexts: a rule that is in none of the texts that are not packed
// could change without anybody reading it.
func TestReadableTexts(t *testing.T) {
	var groups seccomp.Variant
	for _, v := range readableVariants() {
		groups |= v
	}
	for _, g := range seccomp.Groups() {
		if !groups.Has(g) {
			t.Errorf("group %s is in no readable text", g)
		}
	}
}

// TestRulesThatCannotBeCompiled: each is an error and not a program without it.
func TestRulesThatCannotBeCompiled(t *testing.T) {
	tests := []struct {
		name string
		rule seccomp.Rule
	}{
		{"a call that does not exist", seccomp.Rule{Call: "no_such_call", Answer: unix.EPERM}},
		{"a call that libseccomp does not know", seccomp.Rule{Call: "setxattrat", Answer: unix.EPERM}},
		{"two conditions on one argument", seccomp.Rule{Call: "kill", Answer: unix.EPERM, When: []seccomp.Cond{
			{Arg: 0, Op: seccomp.Differs}, {Arg: 0, Op: seccomp.AtLeast, Value: 7},
		}}},
		{"an argument that no call has", seccomp.Rule{Call: "kill", Answer: unix.EPERM, When: []seccomp.Cond{{Arg: 6}}}},
	}
	for _, tt := range tests {
		for _, arch := range seccomp.Arches() {
			if _, _, err := translate([]seccomp.Rule{tt.rule}, arch); err == nil {
				t.Errorf("%s: %s was compiled for %s", tt.name, tt.rule, arch)
			}
		}
	}
	if _, _, err := translate([]seccomp.Rule{{Call: "open", Answer: unix.EPERM}}, seccomp.ARM64); err == nil {
		t.Error("open was compiled for arm64, which does not have it")
	}
	for _, rule := range []seccomp.Rule{
		{Call: "listns", Answer: unix.EPERM}, // above NewestCall
		{Call: "fchmodat2", Answer: unix.EPERM, When: []seccomp.Cond{{Arg: 0, Op: seccomp.Differs}}},
		{Call: "fchmodat2", Answer: unix.EPERM, When: []seccomp.Cond{{Arg: 0, Op: seccomp.AtLeast, Value: 1}}},
		{Call: "fchmodat2", Answer: unix.EPERM, When: []seccomp.Cond{{Arg: 0, Mask: 1 << 32}}},
		{Call: "fchmodat2", Answer: unix.EPERM, When: []seccomp.Cond{{Arg: 6, Mask: 1}}},
	} {
		if _, err := prelude([]seccomp.Rule{rule}, seccomp.AMD64); err == nil {
			t.Errorf("%s was taken into the prelude", rule)
		}
	}
}

func shipped(t *testing.T, arch seccomp.Arch) seccomp.Archive {
	t.Helper()
	return seccomp.Archive{
		Programs: string(read(t, inPrograms(string(arch)+".filters"))),
		Texts:    string(read(t, inPrograms(string(arch)+".pfc.gz"))),
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
