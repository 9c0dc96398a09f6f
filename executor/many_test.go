package executor

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// count is how many entries a directory of /proc/self has.
func count(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/" + dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestManyRuns leave nothing open.
func TestManyRuns(t *testing.T) {
	runs := 1000
	if testing.Short() {
		runs = 100
	}
	e := newExecutor(t, Config{})
	s := resolve(t, e, Request{Argv: []string{"/bin/true"}})
	once := func() {
		if r, err := e.Run(t.Context(), s); err != nil || r.Exit.Failed() {
			t.Fatalf("got %+v, %v", r.Exit, err)
		}
	}
	once()
	before := count(t, "fd")
	for range runs {
		once()
	}
	if after := count(t, "fd"); after > before+8 { // the brokers' last descriptors go late
		t.Errorf("%d descriptors became %d", before, after)
	}
}

// TestManyAtOnce: 64 runs at the same time, half of them with a flood.
func TestManyAtOnce(t *testing.T) {
	e := newExecutor(t, Config{})
	before := count(t, "fd")
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			size := 10 + i%2*300_000
			s := resolve(t, e, Request{Command: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' '%c'", size, 'A'+i%26), Owner: fmt.Sprint(i)})
			r, err := e.Run(t.Context(), s)
			if err != nil || r.Stdout.Bytes != int64(size) || strings.Trim(string(r.Stdout.Tail), string(rune('A'+i%26))) != "" {
				t.Errorf("run %d: %d bytes of %d, %v", i, r.Stdout.Bytes, size, err)
			}
			if size > tailLimit {
				wantSpill(t, r.Stdout.Spill, strings.Repeat(string(rune('A'+i%26)), size))
			}
		})
	}
	all.Wait()
	if after := count(t, "fd"); after > before+8 {
		t.Errorf("%d descriptors became %d", before, after)
	}
	if n := e.widths.places.Load(); n != 0 {
		t.Errorf("%d wide pipes are left", n)
	}
}

// TestMixedModes: 20 calls at once, runs and tasks of all modes, each with its own
// bytes and facts.
func TestMixedModes(t *testing.T) {
	e := newExecutor(t, Config{})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() { mixed(t, e, i) })
	}
	all.Wait()
}

func mixed(t *testing.T, e *Executor, i int) {
	p := policy.Policy{Mode: policy.Mode(i % 3), Workspace: t.TempDir()}
	outside := fmt.Sprintf("%s/of-%d", t.TempDir(), i)
	r := Request{Policy: &p, Owner: fmt.Sprint("owner-", i), Command: fmt.Sprintf("for n in {1..500}; do echo line-%d; done; echo note-%d >&2; : > %s; exit %d", i, i, outside, i)}
	stdout, stderr, result := either(t, e, r, i)
	if want := strings.Repeat(fmt.Sprintf("line-%d\n", i), 500); stdout != want || !strings.HasPrefix(stderr, fmt.Sprintf("note-%d\n", i)) {
		t.Errorf("call %d got %d bytes, %q", i, len(stdout), stderr)
	}
	wantDenied := p.Mode.Confines()
	if result.Exit != (fact.Exit{Code: i}) || result.Report.Mode != p.Mode || (len(result.Denials) == 1) != wantDenied {
		t.Errorf("call %d in %s: %+v, %+v", i, p.Mode, result.Exit, result.Denials)
	}
	if wantDenied && result.Denials[0].Path != outside {
		t.Errorf("call %d has another's denial: %+v", i, result.Denials)
	}
}

// either runs every second call in the background.
func either(t *testing.T, e *Executor, r Request, i int) (stdout, stderr string, result Result) {
	s := resolve(t, e, r)
	if i%2 == 0 {
		result, err := e.Run(t.Context(), s)
		if err != nil {
			t.Error(err)
		}
		return string(result.Stdout.Tail), string(result.Stderr.Tail), result
	}
	task, err := e.Start(s)
	if err != nil {
		t.Error(err)
		return "", "", Result{}
	}
	<-task.Done()
	result, err = task.Result()
	out := task.ReadOutput()
	if err != nil || out.Stdout.Lossy || out.Status.Code != i {
		t.Errorf("call %d: %+v, %v", i, out.Status, err)
	}
	return string(out.Stdout.Data), string(out.Stderr.Data), result
}
