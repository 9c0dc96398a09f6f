package integration

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// signalledCalls are enough for thousands of signals to hit a waiting caller.
var signalledCalls = kerneltest.Fewer(20_000)

// A caller that waits for the broker is not interrupted: a call that is done
// twice would show, since each one here depends on the one before it. Go itself
// sends SIGURG to its threads.
func TestMetadataUnderSignals(t *testing.T) {
	needs(t)
	p := in(policy.WorkspaceWrite, realTempDir(t))
	count := strconv.Itoa(signalledCalls)
	outside := realTempDir(t)
	out, err := self(t, "as-victim", "do", "signalled", outside, "200").Output()
	if err != nil {
		t.Fatalf("without the sandbox: %v: %s", err, out)
	}
	begin := time.Now()
	r := run(t, newExecutor(t, executor.Config{}), executor.Request{
		Policy: p, Argv: []string{selfPath(t), "as-victim", "do", "signalled", p.Workspace, count},
	})
	var sent int
	if _, err := fmt.Sscanf(stdout(r), "%d signals\nok\n", &sent); err != nil || r.Exit.Failed() {
		t.Fatalf("%v: got %+v %q %q", err, r.Exit, stdout(r), stderr(r))
	}
	if sent < signalledCalls/20 {
		t.Errorf("only %d signals in %d calls", sent, signalledCalls)
	}
	if got := metadataLookAt(filepath.Join(p.Workspace, "last")); got.Text[:6] != "100600" {
		t.Errorf("the last change is lost: %s", got.Text)
	}
	t.Logf("%d calls, %d signals, %v", signalledCalls, sent, time.Since(begin))
}

// victimSignalled adds an attribute that must not be there yet (XATTR_CREATE),
// and removes it, which fails where it is gone already: a call that is done twice
// fails. DIRECTORY COUNT
func victimSignalled(args []string) error {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGUSR1)
	path := filepath.Join(args[0], "last")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		return err
	}
	tid, stop, sent := unix.Gettid(), make(chan struct{}), make(chan int)
	go pester(tid, stop, sent)
	err := victimAlternate(path, number(args[1]))
	close(stop)
	fmt.Println(<-sent, "signals")
	if err != nil {
		return fmt.Errorf("a call was lost or done twice: %s", err)
	}
	return nil
}

// pester sends signals to a thread until it is told to stop.
func pester(tid int, stop chan struct{}, sent chan int) {
	runtime.LockOSThread()
	pid := os.Getpid()
	for n := 0; ; n++ {
		select {
		case <-stop:
			sent <- n
			return
		default:
		}
		_ = unix.Tgkill(pid, tid, unix.SIGURG)
		_ = unix.Tgkill(pid, tid, unix.SIGUSR1)
	}
}

// victimAlternate makes raw calls: nothing here repeats one that was interrupted.
func victimAlternate(path string, count int) error {
	for i := range count / 4 {
		if err := unix.Setxattr(path, "user.count", []byte("1"), unix.XATTR_CREATE); err != nil {
			return fmt.Errorf("create %d: %w", i, err)
		}
		if err := unix.Removexattr(path, "user.count"); err != nil {
			return fmt.Errorf("remove %d: %w", i, err)
		}
		for _, mode := range []uint32{0o640, 0o600} {
			var stat unix.Stat_t
			if err := unix.Chmod(path, mode); err != nil {
				return fmt.Errorf("chmod %d: %w", i, err)
			}
			if err := unix.Stat(path, &stat); err != nil || stat.Mode&0o777 != mode {
				return fmt.Errorf("chmod %d: got mode %o, want %o: %w", i, stat.Mode, mode, err)
			}
		}
	}
	return nil
}
