package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// appears waits for a file.
func appears(t *testing.T, path string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if exists(t, path) {
			return
		}
	}
	t.Fatalf("%s did not appear", path)
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

// TestBrokerEnds: where this process may not even wait for a descriptor when the
// first call comes, the broker ends. The run goes on, its calls are
// refused, and the report says so.
func TestBrokerEnds(t *testing.T) {
	needs(t, kerneltest.Broker)
	const reason = "invalid argument"
	work := realTempDir(t)
	write(t, filepath.Join(work, "f"), "")
	input, control := io.Pipe()
	e := newExecutor(t, executor.Config{})
	spec, err := e.Resolve(executor.Request{
		Policy: in(policy.WorkspaceWrite, work), Stdin: input,
		Command: `: >ready; read x; chmod 600 f; chmod 600 f; : >done; read x; exit 7`,
	})
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan executor.Result, 1)
	go func() {
		r, err := e.Run(context.Background(), spec)
		if err != nil {
			t.Error(err)
		}
		results <- r
	}()
	appears(t, filepath.Join(work, "ready"))
	withDescriptors(t, 0, func() {
		fmt.Fprintln(control)
		time.Sleep(time.Second)
	})
	appears(t, filepath.Join(work, "done"))
	control.Close()
	r := <-results
	if r.Exit.Code != 7 || strings.Count(stderr(r), "not implemented") != 2 {
		t.Errorf("got %+v, wanted the calls refused and the run to go on\n%s", r.Exit, stderr(r))
	}
	row := slices.IndexFunc(r.Report.Rows, func(row fact.Row) bool { return row.Promise == policy.PromiseMetadata })
	if got := r.Report.Rows[row]; got.Status != fact.Closed || !strings.Contains(got.Detail, reason) {
		t.Errorf("the row is %+v, wanted it closed", got)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], reason) {
		t.Errorf("the warnings are %q", r.Warnings)
	}
	if got := modeOf(t, filepath.Join(work, "f")); got != 0o644 {
		t.Errorf("the mode became %o", got)
	}
}

// withDescriptors lets this process open no more than that meanwhile.
func withDescriptors(t *testing.T, limited uint64, f func()) {
	t.Helper()
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
	}()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: limited, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	f()
}

// TestKeeperKilled: what outlives the keeper changes nothing any more. Another test
// that starts meanwhile may sweep the dead keeper's group, and what lives on in it:
// then once more.
func TestKeeperKilled(t *testing.T) {
	needs(t, kerneltest.Broker, kerneltest.Program("setsid"))
	for range 5 {
		if outlivesKeeper(t) {
			return
		}
	}
	t.Fatal("nothing outlives the keeper")
}

// outlivesKeeper is false where the survivor was killed before it had tried.
func outlivesKeeper(t *testing.T) bool {
	t.Helper()
	work, outside := realTempDir(t), filepath.Join(realTempDir(t), "f")
	write(t, filepath.Join(work, "f"), "")
	write(t, outside, "")
	survivor := fmt.Sprintf(`echo $$ >pid; chmod 640 f && : >ready; until [ -e go ]; do sleep 0.02; done; chmod 600 f 2>in; chmod 600 %s 2>out; : >done`, outside)
	cmd := self(t, "as-runner", work, stateDir(t), fmt.Sprintf("setsid sh -c '%s' & sleep 60", survivor))
	var message bytes.Buffer
	cmd.Stderr = &message
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	appears(t, filepath.Join(work, "ready"))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	write(t, filepath.Join(work, "go"), "")
	pid, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(work, "pid"))))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(patience); alive(pid) && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
	}
	if !exists(t, filepath.Join(work, "done")) {
		return false
	}
	for _, name := range []string{"in", "out"} {
		if got := read(t, filepath.Join(work, name)); !strings.Contains(got, "not implemented") {
			t.Errorf("%s: got %q, wanted ENOSYS\n%s", name, got, message.String())
		}
	}
	if in, out := modeOf(t, filepath.Join(work, "f")), modeOf(t, outside); in != 0o640 || out != 0o644 {
		t.Errorf("the modes became %o inside and %o outside", in, out)
	}
	return true
}

// TestCallersKilled: callers that die at any moment leave a broker that works. The
// call of one that died may still be made after its death, on a busy machine also
// after the next one's: hence the second that is waited. A command can kill a child
// of its own where Landlock holds signals.
func TestCallersKilled(t *testing.T) {
	needs(t, kerneltest.Broker, kerneltest.Landlock(6))
	work := realTempDir(t)
	r := shell(t, in(policy.WorkspaceWrite, work), fmt.Sprintf(`: >f
for i in $(seq %d); do chmod 600 f & kill -9 $!; wait $!; done 2>/dev/null
for i in $(seq %d); do (while :; do chmod 600 f; done) & sleep 0.00$i; kill -9 $!; wait $!; done 2>/dev/null
sleep %g; chmod 640 f && stat -c %%a f`, kerneltest.Fewer(300), kerneltest.Fewer(30), kerneltest.Slow(time.Second).Seconds()))
	succeeded(t, r)
	if got := stdout(r); got != "640\n" {
		t.Errorf("got %q", got)
	}
}

// TestManyBrokers leave nothing open and no thread behind.
func TestManyBrokers(t *testing.T) {
	needs(t, kerneltest.Broker)
	work := realTempDir(t)
	e := newExecutor(t, executor.Config{})
	once := func() {
		succeeded(t, run(t, e, executor.Request{Policy: in(policy.WorkspaceWrite, work), Command: ": >f; chmod 600 f"}))
	}
	for range 5 {
		once()
	}
	descriptors, threads := count(t, "/proc/self/fd"), count(t, "/proc/self/task")
	for range kerneltest.Fewer(500) {
		once()
	}
	time.Sleep(kerneltest.Slow(100 * time.Millisecond)) // a worker waits a little for the next call
	if now := count(t, "/proc/self/fd"); now > descriptors {
		t.Errorf("%d descriptors before, %d after", descriptors, now)
	}
	if now := count(t, "/proc/self/task"); now > threads+10 {
		t.Errorf("%d threads before, %d after", threads, now)
	}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
