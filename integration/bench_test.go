package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// timed are calls that timer measures, on a file "f" in its directory.
var timed = map[string]func() error{
	"chmod":     func() error { return unix.Chmod("f", 0o640) },
	"fchmod":    func() error { return unix.Fchmod(timedFile, 0o640) },
	"utimensat": func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, "f", nil, 0) },
	"open":      timedOpen,
}

// timedFile is open on the file.
const timedFile = 100

func timedOpen() error {
	fd, err := unix.Open("f", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// timer prints the median of a call in nanoseconds.
//
//	as-timer CALL TIMES
func timer(args []string) int {
	fd, err := unix.Open("f", unix.O_CREAT|unix.O_RDONLY, 0o644)
	if err == nil {
		err = unix.Dup3(fd, timedFile, 0)
	}
	times := make([]time.Duration, number(args[1]))
	for i := range times {
		begin := time.Now()
		if err == nil {
			err = timed[args[0]]()
		}
		times[i] = time.Since(begin)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(median(times).Nanoseconds())
	return 0
}

func median(times []time.Duration) time.Duration {
	times = slices.Sorted(slices.Values(times))
	return times[len(times)/2]
}

// settings are what is compared: no sandbox, one that leaves the calls on
// metadata alone, and one whose filter asks.
var settings = []string{"plain", "left", "asked"}

// benched runs bash commands in one directory under each setting.
type benched struct {
	tb       testing.TB
	dir      string
	executor *executor.Executor
}

func newBenched(tb testing.TB) *benched {
	kerneltest.Require(tb, kerneltest.Landlock(1), kerneltest.Broker, kerneltest.Program("bash"))
	return &benched{tb, realTempDir(tb), newExecutor(tb, executor.Config{})}
}

func (b *benched) run(setting, command string) string {
	b.tb.Helper()
	p := in(policy.WorkspaceWrite, b.dir)
	switch setting {
	case "plain":
		p.Mode = policy.DangerFullAccess
	case "left":
		p.AllowUnenforced = metadataAlone
	}
	spec, err := b.executor.Resolve(executor.Request{Policy: p, Command: command})
	if err != nil {
		b.tb.Fatal(err)
	}
	r, err := b.executor.Run(context.Background(), spec)
	if err != nil {
		b.tb.Fatal(err)
	}
	succeeded(b.tb, r)
	return strings.TrimSpace(stdout(r))
}

// compare measures a command under each setting in turn, and reports medians and
// ratios. The command prints what it measured, in that unit.
func (b *benched) compare(rounds int, unit, prepare, command string) {
	b.tb.Helper()
	results := map[string][]time.Duration{}
	for range rounds {
		for _, setting := range settings {
			b.run("plain", prepare)
			value, err := strconv.Atoi(b.run(setting, command))
			if err != nil {
				b.tb.Fatal(err)
			}
			results[setting] = append(results[setting], time.Duration(value))
		}
	}
	plain, left, asked := median(results["plain"]), median(results["left"]), median(results["asked"])
	b.tb.Logf("plain %d %s, left %d, asked %d; asked/plain %.2f, asked/left %.2f (medians of %d rounds)",
		plain, unit, left, asked, float64(asked)/float64(plain), float64(asked)/float64(left), rounds)
	least, of := slices.Min(results["plain"]), slices.Min(results["asked"])
	b.tb.Logf("the least: plain %d %s, left %d, asked %d; asked/plain %.2f", least, unit, slices.Min(results["left"]), of, float64(of)/float64(least))
}

// clocked prints how many microseconds a command takes.
func clocked(command string) string {
	return "a=${EPOCHREALTIME/./}; " + command + " >/dev/null; b=${EPOCHREALTIME/./}; echo $((b-a))"
}

// BenchmarkSettings compares the settings. It measures in rounds of its own: run
// it with -benchtime 1x.
func BenchmarkSettings(b *testing.B) {
	for _, call := range []string{"chmod", "fchmod", "utimensat", "open"} {
		b.Run(call, func(b *testing.B) {
			newBenched(b).compare(7, "ns", "true", fmt.Sprintf("%s as-timer %s 5000", benchSelf(b), call))
		})
	}
	b.Run("tar x of 5000 files", func(b *testing.B) {
		kerneltest.Require(b, kerneltest.Program("tar"))
		s := newBenched(b)
		s.run("plain", `mkdir s && cd s && for i in $(seq 5000); do echo $i >f$i; done; tar cf ../a.tar .`)
		// Into a new directory each time: ext4 is slow to take inodes that were just freed.
		s.compare(11, "µs", "o=$(mktemp -d o.XXXXXX); ln -sfn $o o", clocked("tar xf a.tar -C o"))
	})
	b.Run("git status of 5000 files", func(b *testing.B) {
		kerneltest.Require(b, kerneltest.Program("git"))
		s := newBenched(b)
		s.run("plain", `git init -q . && for i in $(seq 5000); do echo $i >f$i; done; git add . && git -c user.name=a -c user.email=a@b commit -qm one`)
		s.compare(15, "µs", "true", clocked("git status"))
	})
	b.Run("a run of true", func(b *testing.B) {
		newBenched(b).runs(60)
	})
}

// runs compares whole runs of a command that does nothing.
func (b *benched) runs(rounds int) {
	results := map[string][]time.Duration{}
	for range rounds {
		for _, setting := range settings {
			begin := time.Now()
			b.run(setting, "true")
			results[setting] = append(results[setting], time.Since(begin))
		}
	}
	b.tb.Logf("plain %v, left %v, asked %v", median(results["plain"]), median(results["left"]), median(results["asked"]))
}

// benchSelf is the path of this binary.
func benchSelf(tb testing.TB) string {
	path, err := filepath.EvalSymlinks("/proc/self/exe")
	if err != nil {
		tb.Fatal(err)
	}
	return path
}
