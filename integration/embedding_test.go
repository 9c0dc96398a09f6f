package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Case L16: the embedding process is never confined, not on any thread.
func TestEmbeddingProcessIsUnaffected(t *testing.T) {
	needs(t)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	before := ownStatus(t)
	work, other := realTempDir(t), realTempDir(t)
	succeeded(t, shell(t, in(policy.ReadOnly, work), "true"))

	write(t, filepath.Join(other, "file"), "x")
	if err := child.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("signal an older child: %v", err)
	}
	if err := child.Wait(); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("the older child ended with %v", err)
	}
	mustBash(t, other, "echo y >file && mknod p p")
	if after := ownStatus(t); after != before {
		t.Errorf("privileges of the threads became\n%swere\n%s", after, before)
	}
}

// ownStatus is what confinement would change, over all threads of this process.
func ownStatus(t *testing.T) string {
	t.Helper()
	tasks, err := filepath.Glob("/proc/self/task/*/status")
	if err != nil || len(tasks) == 0 {
		t.Fatalf("found %d threads: %v", len(tasks), err)
	}
	seen := map[string]bool{}
	for _, task := range tasks {
		body, err := os.ReadFile(task)
		if err != nil {
			continue // the thread ended
		}
		if ofBroker(string(body)) {
			continue
		}
		for line := range strings.Lines(string(body)) {
			for _, key := range []string{"NoNewPrivs", "Seccomp:", "CapEff", "CapPrm", "CapBnd", "SigIgn", "Umask"} {
				if strings.HasPrefix(line, key) {
					seen[line] = true
				}
			}
		}
	}
	lines := make([]string, 0, len(seen))
	for line := range seen {
		lines = append(lines, line)
	}
	return strings.Join(sorted(lines), "")
}

// ofBroker tells the broker's threads, which no other code runs on: they gave up all
// but a few capabilities.
func ofBroker(status string) bool {
	_, rest, _ := strings.Cut(status, "CapPrm:")
	permitted, err := strconv.ParseUint(strings.TrimSpace(rest[:strings.IndexByte(rest, '\n')]), 16, 64)
	const fewest = keptCapabilities | 1<<unix.CAP_SYS_PTRACE
	return err == nil && permitted != 0 && permitted&^fewest == 0
}

// Case E15: PDEATHSIG follows the thread that forks. A caller whose thread ends
// must not take the command along.
func TestRunFromThreadThatEnds(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{})
	work := realTempDir(t)
	if err := exec.Command("mkfifo", filepath.Join(work, "end")).Run(); err != nil {
		t.Fatal(err)
	}
	spec, err := e.Resolve(executor.Request{Policy: in(policy.WorkspaceWrite, work), Command: "touch running; read x <end; echo lived"})
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan executor.Result, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		go func() {
			r, err := e.Run(t.Context(), spec)
			if err != nil {
				t.Error(err)
			}
			results <- r
		}()
		for !exists(t, filepath.Join(work, "running")) {
			time.Sleep(time.Millisecond)
		}
	}()
	for !exists(t, filepath.Join(work, "running")) {
		time.Sleep(time.Millisecond)
	}
	for range 20 { // let threads come and go
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread()
		}()
		<-done
	}
	mustBash(t, work, "echo >end")
	if r := <-results; stdout(r) != "lived\n" || r.Exit.Failed() {
		t.Errorf("got %+v and %q", r.Exit, r.Stdout.Tail)
	}
	// The same where Run itself is called on such a thread.
	direct := make(chan executor.Result, 1)
	go func() {
		runtime.LockOSThread()
		r, err := tryRun(e, executor.Request{Policy: in(policy.ReadOnly, work), Command: "sleep 0.2; echo lived"})
		if err != nil {
			t.Error(err)
		}
		direct <- r
	}()
	if r := <-direct; stdout(r) != "lived\n" {
		t.Errorf("called on a thread that ends: %+v and %q", r.Exit, r.Stdout.Tail)
	}
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
