package executor

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// flood is 1 GiB of output.
const flood = "head -c 1G /dev/zero"

// BenchmarkFlood gives the processor time of this process and the command for 1
// GiB of output. go test -run '^$' -bench Flood -benchtime 5x ./executor
func BenchmarkFlood(b *testing.B) {
	b.Run("cat", func(b *testing.B) {
		measure(b, func() error { return exec.Command("bash", "-c", flood+" | cat >/dev/null").Run() })
	})
	for name, spill := range map[string]Spill{"memory": SpillNever, "spill": SpillUnseen} {
		b.Run(name, func(b *testing.B) {
			e, err := New(Config{StateDir: filepath.Join(b.TempDir(), "state")})
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close()
			s, err := e.Resolve(Request{Command: flood, Spill: spill})
			if err != nil {
				b.Fatal(err)
			}
			measure(b, func() error { _, err := e.Run(b.Context(), s); return err })
		})
	}
}

func measure(b *testing.B, once func() error) {
	before := spent(b)
	for b.Loop() {
		if err := once(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((spent(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// spent is the processor time of this process and of all that it waited for.
func spent(b *testing.B) (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return sum
}
