package classify

import (
	"fmt"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// kept is the size of a kept tail.
const kept = 64 << 10

// tails are what a command can print to keep us busy.
func tails() map[string][]byte {
	var distinct, programs strings.Builder
	for i := 0; distinct.Len() < kept; i++ {
		fmt.Fprintf(&distinct, "open /srv/a%d/../b/../x%d: permission denied\n", i, i)
		fmt.Fprintf(&programs, "p%d: Permission denied\n", i)
	}
	fill := func(unit string) []byte { return []byte(strings.Repeat(unit, kept/len(unit))) }
	return map[string][]byte{
		"distinct paths":   []byte(distinct.String()),
		"distinct names":   []byte(programs.String()),
		"one path":         fill("touch: cannot touch '/srv/x': Permission denied\n"),
		"a rename":         fill("rename /tmp/a /etc/b: permission denied\n"),
		"one line":         fill("Permission denied "),
		"one path of dots": append(append([]byte("open /"), fill("a/../")...), ": permission denied\n"...),
		"opening quotes":   append(append([]byte("x: "), fill("‘ '‘ ' \"x $' `")...), ": Permission denied"...),
		"quotes in parts":  fill("mv: 'a' to ' '' '' ‘b: ‘ ': Permission denied\n"),
		"parts":            append(fill("a: "), "Permission denied"...),
		"escapes":          fill("\x1b]\x1b[1\x1b(x"),
		"backslashes":      append([]byte("PermissionError: [Errno 13] Permission denied: '"), fill(`\x`)...),
		"causes":           fill("Caused by:\n\nPermission denied\n"),
		"blank lines":      append(fill("\n"), "Permission denied\n"...),
		"marks":            fill("    ^^^^\nPermissionError: [Errno 13] Permission denied: '/srv/x'\n"),
	}
}

// A path with ".." is asked for once at each of them, and then a few more
// questions follow, of the policy and of ordinary permissions, for each
// operation that its lines name.
const questionsPerPath = maxParents + 2 + 6

func TestQuestionsAreBounded(t *testing.T) {
	for name, tail := range tails() {
		w := readOnly()
		o := Outcome{Exit: fact.Exit{Code: 1}, Dir: home, Stdout: tail, Stderr: tail}
		denials := Denials(o, w)
		if most := maxPaths*questionsPerPath + maxNames; w.questions > most {
			t.Errorf("%s: %d questions, want at most %d", name, w.questions, most)
		}
		if len(denials) > 2*maxPaths+1 {
			t.Errorf("%s: %d denials", name, len(denials))
		}
	}
}

func TestLineBeyondTheBoundIsPossible(t *testing.T) {
	var text strings.Builder
	for i := range maxPaths + 1 {
		fmt.Fprintf(&text, "open /srv/x%d: permission denied\n", i)
	}
	got := run(readOnly(), 1, text.String())
	if len(got) != maxPaths+1 || got[maxPaths] != fmt.Sprintf("possible write /srv/x%d", maxPaths) {
		t.Errorf("got %d denials, last %q", len(got), got[len(got)-1])
	}
}

func TestLineIsCut(t *testing.T) {
	for _, unit := range []string{"a", "é", "権", "\U0001f600", "\xff", "\xffa"} {
		stderr := "open /srv/" + strings.Repeat(unit, 300) + ": permission denied"
		o := Outcome{Exit: fact.Exit{Code: 1}, Dir: home, Stderr: []byte(stderr)}
		for _, d := range Denials(o, readOnly()) {
			if len(d.Line) > maxLine || !utf8.ValidString(d.Line) {
				t.Errorf("%q: %d bytes: %q", unit, len(d.Line), d.Line)
			}
			if d.Path != "/srv/"+strings.Repeat(unit, 300) {
				t.Errorf("%q: path %q", unit, d.Path)
			}
		}
	}
}

func BenchmarkDenials(b *testing.B) {
	for name, tail := range tails() {
		b.Run(name, func(b *testing.B) {
			o := Outcome{Exit: fact.Exit{Code: 1}, Dir: home, Stderr: tail}
			for b.Loop() {
				Denials(o, readOnly())
			}
		})
	}
}

func FuzzDenials(f *testing.F) {
	for _, tc := range refusals {
		f.Add([]byte(tc.line), 1)
	}
	for _, tc := range runs {
		f.Add([]byte(tc.stderr), tc.code)
	}
	for _, line := range strange {
		f.Add([]byte(line), 0)
	}
	f.Fuzz(func(t *testing.T, text []byte, code int) {
		o := Outcome{Exit: fact.Exit{Code: code}, Dir: home, Stdout: text, Stderr: text}
		for _, d := range Denials(o, workspaceWrite()) {
			if d.Path != "" && !path.IsAbs(d.Path) || d.Verdict == fact.Denied && (d.Path == "" || d.Rule == "") {
				t.Errorf("%q: %+v", text, d)
			}
			if len(d.Line) > maxLine || !utf8.ValidString(d.Line) || d.Kind != fact.KindFile || d.Op == "" {
				t.Errorf("%q: %+v", text, d)
			}
		}
	})
}
