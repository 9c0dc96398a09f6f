package kerneltest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// recorder is a testing.TB that notes how a test would have ended.
type recorder struct {
	testing.TB
	end string
}

func (r *recorder) Helper()                      {}
func (r *recorder) Fatal(args ...any)            { r.stop("fatal: " + fmt.Sprint(args...)) }
func (r *recorder) Fatalf(f string, args ...any) { r.stop("fatal: " + fmt.Sprintf(f, args...)) }
func (r *recorder) Skipf(f string, args ...any)  { r.stop("skip: " + fmt.Sprintf(f, args...)) }

func (r *recorder) stop(end string) {
	r.end = end
	panic(r)
}

func outcome(t *testing.T, required string, features ...Feature) (end string) {
	t.Setenv(requireVariable, required)
	r := &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != any(r) {
			panic(p)
		}
		end = r.end
	}()
	Require(r, features...)
	return ""
}

func TestRequire(t *testing.T) {
	const absent = Feature("no-such-program-here")
	here, other := Root, OrdinaryUser
	if os.Getuid() != 0 {
		here, other = other, here
	}
	tests := []struct {
		name, required string
		features       []Feature
		want           string // prefix of the end; empty: the test goes on
	}{
		{"nothing needed", "", nil, ""},
		{"present", "", []Feature{here, Program("sh")}, ""},
		{"present and required", string(here), []Feature{here}, ""},
		{"missing", "", []Feature{here, absent}, "skip: needs no-such-program-here"},
		{"missing, another required", "sh,tty", []Feature{absent}, "skip: "},
		{"missing and required", "sh, no-such-program-here", []Feature{absent}, "fatal: no-such-program-here is listed"},
		{"another user", "", []Feature{other}, "skip: needs " + string(other)},
		{"level below the required", "landlock=2000", []Feature{Landlock(1999)}, "fatal: landlock=1999"},
		{"level above the required", "landlock=7", []Feature{Landlock(2000)}, "skip: needs landlock=2000"},
		{"list: no level", "landlock", nil, "fatal: "},
		{"list: level of a name without", "root=1", nil, "fatal: "},
		{"list: empty entry", "tty,,git", nil, "fatal: "},
		{"feature: level 0", "", []Feature{Landlock(0)}, "fatal: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := outcome(t, tt.required, tt.features...)
			if !strings.HasPrefix(got, tt.want) || (tt.want == "") != (got == "") {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestPresent(t *testing.T) {
	have, missing := Present(Program("sh"), "no-such-program-here")
	if len(have) != 1 || have[0] != "sh" || len(missing) != 1 {
		t.Errorf("got %v and %v, want sh and the other", have, missing)
	}
}

func TestTerminal(t *testing.T) {
	Require(t, Terminal)
}
