package integration

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// victim starts a holder and returns its process id and the prober's arguments.
func victim(t *testing.T) (pid int, args []string) {
	t.Helper()
	cmd := self(t, "as-holder")
	cmd.Env = append(os.Environ(), "HELD="+secret)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the victim: %v", err)
		}
	})
	var address, fd string
	if _, err := fmt.Fscan(out, &pid, &address, &fd); err != nil {
		t.Fatal(err)
	}
	return pid, []string{fmt.Sprint(pid), address, fd}
}

func TestOtherProcessesCannotBeReached(t *testing.T) {
	needs(t)
	_, args := victim(t)
	before, err := self(t, "as-prober", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	ways := strings.Split(strings.TrimSpace(string(before)), "\n")
	for _, way := range ways {
		if !strings.Contains(way, " got ") {
			t.Errorf("without the sandbox: %s", way)
		}
	}
	if n := strings.Count(string(before), secret); n != 5 {
		t.Errorf("without the sandbox the secret is found %d times, want 5:\n%s", n, before)
	}
	for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
		t.Run(mode.String(), func(t *testing.T) {
			argv := append([]string{selfPath(t), "as-prober"}, args...)
			r := run(t, newExecutor(t, executor.Config{}), executor.Request{Policy: in(mode, realTempDir(t)), Argv: argv})
			if lines := strings.Count(stdout(r), "\n"); r.Exit.Failed() || lines != len(ways) {
				t.Fatalf("the prober ended with %+v after %d of %d lines: %s", r.Exit, lines, len(ways), r.Stderr.Tail)
			}
			for line := range strings.Lines(stdout(r)) {
				if !strings.HasSuffix(line, " EACCES\n") && !strings.HasSuffix(line, " EPERM\n") {
					t.Errorf("reached: %s", line)
				}
			}
		})
	}
}

// The embedding process is such another process: it holds the caller's secrets.
func TestCallerCannotBeReached(t *testing.T) {
	needs(t)
	command := fmt.Sprintf("cat /proc/%d/environ", os.Getpid())
	if mustBash(t, "/", command) == "" {
		t.Fatal("without the sandbox it is empty")
	}
	r := shell(t, in(policy.WorkspaceWrite, realTempDir(t)), command)
	failed(t, r)
	if r.Stdout.Bytes > 0 {
		t.Errorf("it printed %d bytes", r.Stdout.Bytes)
	}
}

func TestOtherProcessesCannotBeSignalled(t *testing.T) {
	needs(t, kerneltest.Landlock(6))
	pid, _ := victim(t)
	command := fmt.Sprintf("kill -CONT %d", pid)
	mustBash(t, "/", command)
	r := shell(t, in(policy.WorkspaceWrite, realTempDir(t)), command)
	failed(t, r)
	r = shell(t, in(policy.WorkspaceWrite, realTempDir(t)), fmt.Sprintf("kill -KILL %d; kill -KILL -1; true", pid))
	if err := unix.Kill(pid, 0); err != nil {
		t.Fatalf("the victim: %v", err)
	}
	if r.Exit.Signal != "" && r.Exit.Signal != "SIGKILL" {
		t.Errorf("got %+v", r.Exit)
	}
}

// Another run is another process as well.
func TestRunsCannotReachEachOther(t *testing.T) {
	needs(t)
	work := realTempDir(t)
	e := newExecutor(t, executor.Config{})
	p := in(policy.WorkspaceWrite, work)
	if err := exec.Command("mkfifo", work+"/pid", work+"/end").Run(); err != nil {
		t.Fatal(err)
	}
	first := make(chan executor.Result)
	go func() {
		r, err := tryRun(e, executor.Request{
			Policy: p, Env: []string{"HELD=" + secret},
			Command: "echo $$ >pid; read x <end; tr '\\0' '\\n' </proc/$$/environ | grep HELD",
		})
		if err != nil {
			t.Error(err)
		}
		first <- r
	}()
	second := run(t, e, executor.Request{Policy: p, Command: "read p <pid; cat /proc/$p/environ; status=$?; echo >end; exit $status"})
	failed(t, second)
	if strings.Contains(stdout(second), secret) {
		t.Error("the second run read the first one's environment")
	}
	if r := <-first; stdout(r) != "HELD="+secret+"\n" {
		t.Errorf("the first run itself read %q", r.Stdout.Tail)
	}
}
