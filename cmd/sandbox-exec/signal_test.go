package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// running is a command line under way, and what it prints, line by line.
type running struct {
	*exec.Cmd
	lines *bufio.Reader
	in    io.WriteCloser
}

func start(t *testing.T, cmd *exec.Cmd) running {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	// A test runner may ignore SIGINT, and what is ignored is inherited: while
	// the signals are caught here, the program starts with the default.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(caught)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return running{cmd, bufio.NewReader(out), in}
}

func (r running) line(t *testing.T) string {
	t.Helper()
	line, err := r.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("read a line of %s: %v after %q", r.Cmd, err, line)
	}
	return strings.TrimSuffix(line, "\n")
}

// number reads a line that holds a process id.
func (r running) number(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(r.line(t))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (r running) send(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := r.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
}

// end reads the rest and waits.
func (r running) end(t *testing.T) (rest string, status int) {
	t.Helper()
	body, err := io.ReadAll(r.lines)
	if err != nil {
		t.Fatal(err)
	}
	status, err = exitCode(r.Wait())
	if err != nil {
		t.Fatal(err)
	}
	return string(body), status
}

var forwarded = []struct {
	name string
	sig  syscall.Signal
}{{"INT", syscall.SIGINT}, {"TERM", syscall.SIGTERM}, {"HUP", syscall.SIGHUP}}

func TestSignalsReachTheCommand(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	for _, tt := range forwarded {
		t.Run(tt.name, func(t *testing.T) {
			trap := "trap 'echo got " + tt.name + "; exit 7' " + tt.name + "; echo ready; sleep 30 & wait"
			r := start(t, command(t, t.TempDir(), "sandbox-exec", "run", "-c", trap))
			r.line(t)
			r.send(t, tt.sig)
			if rest, status := r.end(t); rest != "got "+tt.name+"\n" || status != 7 {
				t.Errorf("got %q and exit status %d, want the trap's line and 7", rest, status)
			}
		})
	}
}

func TestSignalEndsTheCommand(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	for _, tt := range forwarded {
		t.Run(tt.name, func(t *testing.T) {
			r := start(t, command(t, t.TempDir(), "sandbox-exec", "run", "-c", "echo $$; sleep 30"))
			group := r.number(t)
			r.send(t, tt.sig)
			if _, status := r.end(t); status != 128+int(tt.sig) {
				t.Errorf("exit status %d, want %d", status, 128+int(tt.sig))
			}
			if !gone(t, -group) {
				t.Error("processes of the command are left")
			}
		})
	}
}

func TestSignalThatTheCommandIgnores(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	const stubborn = "trap '' INT TERM HUP; echo $$; while :; do sleep 1; done"
	r := start(t, command(t, t.TempDir(), "sandbox-exec", "run", "--grace", "300ms", "-c", stubborn))
	group := r.number(t)
	begin := time.Now()
	r.send(t, syscall.SIGTERM)
	if _, status := r.end(t); status != 128+int(syscall.SIGKILL) {
		t.Errorf("exit status %d, want 137", status)
	}
	if took := time.Since(begin); took > kerneltest.Slow(2*time.Second) {
		t.Errorf("it took %s, the grace time was 300ms", took)
	}
	if !gone(t, -group) {
		t.Error("processes of the command are left")
	}
}

// Under nohup SIGHUP is ignored by the caller's wish.
func TestIgnoredHangupStaysIgnored(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	const nohup = `trap "" HUP; exec sandbox-exec run -c 'echo ready; read x; echo "got $x"'`
	r := start(t, command(t, t.TempDir(), "bash", "-c", nohup))
	r.line(t)
	r.send(t, syscall.SIGHUP)
	time.Sleep(100 * time.Millisecond) // it would end the command meanwhile
	if _, err := io.WriteString(r.in, "on\n"); err != nil {
		t.Fatal(err)
	}
	if rest, status := r.end(t); rest != "got on\n" || status != 0 {
		t.Errorf("got %q and exit status %d, want it to go on", rest, status)
	}
}

// A reader that goes away ends the command, as in any pipeline.
func TestClosedStdoutEndsTheCommand(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	const plain = `bash -c 'echo $$; exec yes' | head -n 1; echo ${PIPESTATUS[0]}`
	if o := finish(t, command(t, t.TempDir(), "bash", "-c", plain)); !strings.HasSuffix(o.stdout, "\n141\n") {
		t.Fatalf("without the sandbox: %+v", o)
	}
	dir := realTempDir(t)
	const piped = `sandbox-exec run --json doc.json -c 'echo $$; exec yes' | head -n 1; echo ${PIPESTATUS[0]}`
	o := finish(t, command(t, dir, "bash", "-c", piped))
	pid, status, _ := strings.Cut(strings.TrimSpace(o.stdout), "\n")
	if status != "141" {
		t.Errorf("exit status %s, want 141: %+v", status, o)
	}
	if n, err := strconv.Atoi(pid); err != nil || !gone(t, -n) {
		t.Errorf("process %q is left (%v)", pid, err)
	}
	// The program itself goes on to its end.
	document, err := validDocument(read(t, filepath.Join(dir, "doc.json")))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := lookUp(document, "exit.signal"); err != nil || got != "SIGPIPE" {
		t.Errorf("the document says %q (%v), want SIGPIPE", got, err)
	}
}

func TestKilledCallerTakesTheShellAlong(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	for _, mode := range []string{"read-only", "workspace-write", "danger-full-access"} {
		t.Run(mode, func(t *testing.T) {
			state := filepath.Join(realTempDir(t), "state") // the scratch directory stays there
			r := start(t, command(t, t.TempDir(), "sandbox-exec", "run", "--mode", mode, "--state-dir", state, "-c", "echo $$; while :; do :; done"))
			shell := r.number(t)
			if err := syscall.Kill(shell, 0); err != nil {
				t.Fatalf("the shell before: %v", err)
			}
			r.send(t, syscall.SIGKILL)
			_ = r.Wait()
			if !gone(t, shell) {
				_ = syscall.Kill(shell, syscall.SIGKILL)
				t.Error("the shell lives on")
			}
		})
	}
}
