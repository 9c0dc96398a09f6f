package integration

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Case E13, as far as it goes without tasks: nothing grows from run to run.
func TestManyRunsLeaveNothing(t *testing.T) {
	needs(t)
	state, work := stateDir(t), realTempDir(t)
	e, err := executor.New(executor.Config{StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	once := func(i int) {
		mode := []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite, policy.DangerFullAccess}[i%3]
		r := run(t, e, executor.Request{Policy: in(mode, work), Command: "echo $TMPDIR >$TMPDIR/f; cat $TMPDIR/f", Stdin: strings.NewReader("x")})
		succeeded(t, r)
		if !strings.HasPrefix(stdout(r), state+"/") {
			t.Fatalf("TMPDIR is %q", r.Stdout.Tail)
		}
	}
	once(0) // what is made once: threads, the poller
	settle()
	descriptors, threads, places := openFiles(t), entries(t, "/proc/self/task"), tree(t, state)
	running := goleak.IgnoreCurrent()
	for i := range kerneltest.Fewer(200) {
		once(i)
	}
	settle()
	if got := openFiles(t); got != descriptors {
		t.Errorf("open files became\n%s\nwere\n%s", got, descriptors)
	}
	if got := entries(t, "/proc/self/task"); got > threads+4 {
		t.Errorf("%d threads, were %d", got, threads)
	}
	if got := tree(t, state); got != places {
		t.Errorf("the state directory holds %s, held %s", got, places)
	}
	goleak.VerifyNone(t, running)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// settle gives what ends by itself a moment.
func settle() {
	runtime.GC()
	time.Sleep(50 * time.Millisecond)
}

func entries(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// openFiles lists this process's descriptors and what they lead to.
func openFiles(t *testing.T) string {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, entry := range list {
		target, err := os.Readlink("/proc/self/fd/" + entry.Name())
		if err == nil && !strings.HasSuffix(target, "/fd") { // the listing itself
			lines = append(lines, entry.Name()+" "+target)
		}
	}
	return strings.Join(sorted(lines), "\n")
}

func TestParallelRunsKeepTheirOutput(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{})
	work := realTempDir(t)
	var all sync.WaitGroup
	for i := range 32 {
		all.Go(func() {
			var streamed bytes.Buffer
			mode := []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite}[i%2]
			r, err := tryRun(e, executor.Request{
				Policy: in(mode, work), Stdout: &streamed, Stdin: strings.NewReader(fmt.Sprint("in ", i)),
				Command: fmt.Sprintf("cat; for n in {1..200}; do echo run %d; done; echo err %d >&2; exit %d", i, i, i),
			})
			want := fmt.Sprint("in ", i) + strings.Repeat(fmt.Sprintf("run %d\n", i), 200)
			if err != nil || stdout(r) != want || streamed.String() != want || stderr(r) != fmt.Sprintf("err %d\n", i) || r.Exit.Code != i {
				t.Errorf("run %d: %v, %+v, %d bytes, stderr %q", i, err, r.Exit, r.Stdout.Bytes, r.Stderr.Tail)
			}
		})
	}
	all.Wait()
}

// Closing the executor ends what runs.
func TestCloseEndsRuns(t *testing.T) {
	needs(t)
	e, err := executor.New(executor.Config{StateDir: stateDir(t)})
	if err != nil {
		t.Fatal(err)
	}
	work := realTempDir(t)
	ended := make(chan executor.Result, 1)
	go func() {
		r, err := tryRun(e, executor.Request{Policy: in(policy.WorkspaceWrite, work), Command: "touch running; sleep 60"})
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	for !exists(t, filepath.Join(work, "running")) {
		time.Sleep(time.Millisecond)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if r := <-ended; r.Exit.Signal != "SIGKILL" {
		t.Errorf("got %+v", r.Exit)
	}
	if _, err := tryRun(e, executor.Request{Policy: in(policy.WorkspaceWrite, work), Command: "touch late"}); err == nil || exists(t, filepath.Join(work, "late")) {
		t.Errorf("after Close: %v", err)
	}
}
