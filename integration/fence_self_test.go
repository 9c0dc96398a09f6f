package integration

import (
	"strings"
	"testing"
)

const fenceOurs = `import _ "` + fenceModule + "/"

// fenceCases hold every rule to a source that breaks it and to a near neighbour
// that does not.
var fenceCases = []struct{ file, source, want string }{
	{"policy/a.go", `import "strings"`, ""},
	{"nowhere/a.go", ``, "not in the table"},
	{"util_test.go", ``, "not in the table"},

	{"fact/a.go", fenceOurs + `policy"`, ""},
	{"policy/a.go", fenceOurs + `fact"`, "policy may not import fact"},
	{"keeper/broker/a.go", fenceOurs + `keeper"`, "may not import keeper"},
	{"executor/a.go", fenceOurs + `tool"`, "may not import tool"},
	{"cmd/sandbox-exec/a.go", fenceOurs + `executor"`, ""},
	{"cmd/sandbox-exec/a.go", fenceOurs + `mcpserver"`, "may not import mcpserver"},
	{"confine/a.go", fenceOurs + `internal/kerneltest"`, "may not import internal/kerneltest"},
	{"confine/a_test.go", fenceOurs + `internal/kerneltest"`, ""},
	{"policy/a_test.go", fenceOurs + `policy"`, ""},
	{"policy/a_test.go", fenceOurs + `confine"`, "may not import confine"},
	{"tool/a_test.go", fenceOurs + `confine"`, ""},
	{"integration/a_test.go", fenceOurs + `keeper/broker"`, ""},
	{"integration/a_test.go", fenceOurs + `cmd/sandbox-exec"`, "nobody imports"},
	{"tool/a_test.go", fenceOurs + `integration"`, "nobody imports"},

	{"confine/a.go", `import "os/exec"`, ""},
	{"keeper/broker/a.go", `import "golang.org/x/sys/unix"`, ""},
	{"executor/a_linux.go", `import "golang.org/x/sys/unix"`, ""},
	{"executor/a.go", `import "golang.org/x/sys/unix"`, "may not be imported"},
	{"classify/a_linux.go", `import u "golang.org/x/sys/unix"`, "may not be imported"},
	{"cmd/sandbox-exec/a.go", `import "os/exec"`, "may not be imported"},
	{"classify/a_test.go", `import "os/exec"`, ""},
	{"internal/kerneltest/a.go", `import "os/exec"`, ""},

	{"fact/a.go", `import "syscall"; var _ = []any{syscall.Errno(0), syscall.Signal(0), syscall.SIGTERM, syscall.EACCES, syscall.E2BIG}`, ""},
	{"fact/a.go", `import "syscall"; var _ = syscall.Kill`, "syscall.Kill"},
	{"fact/a.go", `import "syscall"; var _ = syscall.Exec`, "syscall.Exec"},
	{"fact/a.go", `import "syscall"; var _ = syscall.EPOLLIN`, "syscall.EPOLLIN"},
	{"fact/a.go", `import s "syscall"; var _ s.Stat_t`, "syscall.Stat_t"},
	{"fact/a.go", `import . "syscall"; var _ = Kill`, "dot import"},
	{"keeper/a.go", `import "syscall"; var _ = syscall.Kill`, ""},

	{"policy/a.go", `import "os"; var _ = os.Getenv("HOME")`, "os.Getenv"},
	{"policy/a.go", `import "os"; var _ = os.Environ`, "os.Environ"},
	{"policy/a.go", `import "os"; var _ = os.LookupEnv`, "os.LookupEnv"},
	{"policy/a.go", `import "os"; var _ = os.Lstat`, ""},
	{"policy/a.go", `import "log"`, "log outside cmd"},
	{"policy/a.go", `import "fmt"; func f() { fmt.Print() }`, "fmt.Print "},
	{"policy/a.go", `import "fmt"; func f() { fmt.Println() }`, "fmt.Println"},
	{"policy/a.go", `import p "fmt"; func f() { p.Printf("") }`, "fmt.Printf"},
	{"policy/a.go", `import "fmt"; func f() { fmt.Fprintln(nil) }`, ""},
	{"cmd/sandbox-exec/a.go", `import "os"; var _ = os.Environ()`, ""},
	{"policy/a_test.go", `import "os"; var _ = os.Environ()`, ""},

	{"policy/a.go", `func init() {}`, "func init"},
	{"cmd/sandbox-exec/a.go", `func init() {}`, "func init"},
	{"policy/a.go", `type t int; func (t) init() {}`, ""},

	{"confine/landlock/a.go", `func f(c interface{ BestEffort() }) { c.BestEffort() }`, "BestEffort"},
	{"confine/a_test.go", `func f() { BestEffort() }; func BestEffort() {}`, "BestEffort"},
	{"confine/a_test.go", `import "testing"; func f(t *testing.T) { t.Skip() }`, "Skip: use"},
	{"confine/a_test.go", `import "testing"; func f(t *testing.T) { t.Skipf("") }`, "Skipf: use"},
	{"integration/a_test.go", `import "testing"; func f(t *testing.T) { t.SkipNow() }`, "SkipNow: use"},
	{"internal/kerneltest/a.go", `import "testing"; func f(t testing.TB) { t.Skip() }`, ""},

	{"policy/a.go", "func f() {" + strings.Repeat("\n", 79) + "}", ""},
	{"policy/a.go", "func f() {" + strings.Repeat("\n", 80) + "}", "function of 81 lines"},
	{"policy/a_test.go", "var f = func() {" + strings.Repeat("\n", 80) + "}", "function of 81 lines"},
}

func TestFenceCatches(t *testing.T) {
	for _, tt := range fenceCases {
		t.Run(tt.file+" "+tt.want, func(t *testing.T) {
			fenceExpect(t, tt.file, tt.source, tt.want)
		})
	}
}

func fenceExpect(t *testing.T, file, source, want string) {
	t.Helper()
	f, err := fenceParse(file, []byte("package p\n"+source))
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range fenceRules {
		rule(f)
	}
	got := strings.Join(f.found, "\n")
	if want == "" && got != "" || !strings.Contains(got, want) {
		t.Errorf("%s: %s\ngot %q, want %q", file, source, got, want)
	}
}

func TestFenceWantsPackageComments(t *testing.T) {
	var files []*fenceFile
	for name, source := range map[string]string{
		"a/a.go":      "package a",
		"a/b.go":      "// Package a is here.\npackage a",
		"b/b.go":      "package b",
		"b/b_test.go": "// Package b is only in a test.\npackage b",
		"c/c_test.go": "// Package c has tests only.\npackage c",
		"d/d.go":      "//go:build linux\n\npackage d",
	} {
		f, err := fenceParse(name, []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	got := strings.Join(fencePackageComments(files), "; ")
	if want := "b: no package comment; d: no package comment"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFenceFindsSkipsInScripts(t *testing.T) {
	const script = "# skip is a word here\nexec skip\nskip 'why'\n[!root] [linux] skip\n-- f --\nskip\n"
	got := fenceScript("a.txtar", script)
	if len(got) != 2 || !strings.HasPrefix(got[0], "a.txtar:3:") || !strings.HasPrefix(got[1], "a.txtar:4:") {
		t.Errorf("got %q, want lines 3 and 4", got)
	}
}
