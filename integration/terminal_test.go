package integration

import (
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// otherTerminal is a terminal of this user: what a person sees and types is on
// the master, name is the path that programs open.
func otherTerminal(t *testing.T) (master *os.File, name string) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	master = os.NewFile(uintptr(fd), "ptmx") // non-blocking, so it has deadlines
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	name = fmt.Sprintf("/dev/pts/%d", number)
	slave, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0) // keeps it from hanging up
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, name
}

// shown is all that the person sees within a moment. A terminal may give it in
// pieces, and what one call left would be the next one's.
func shown(t *testing.T, master *os.File) string {
	t.Helper()
	if err := master.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var all []byte
	buffer := make([]byte, 256)
	for {
		n, err := master.Read(buffer)
		all = append(all, buffer[:n]...)
		if os.IsTimeout(err) {
			return string(all)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestOtherTerminal(t *testing.T) {
	needs(t, kerneltest.Terminal)
	master, name := otherTerminal(t)
	fake := "echo fake prompt >" + name
	steal := "timeout 2 head -n 1 <" + name

	mustBash(t, "/", fake)
	if got := shown(t, master); got != "fake prompt\r\n" {
		t.Fatalf("without the sandbox the terminal shows %q", got)
	}
	typed(t, master)
	if got := mustBash(t, "/", steal); got != "typed\n" {
		t.Fatalf("without the sandbox %q is read", got)
	}
	shown(t, master) // the echo

	for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
		t.Run(mode.String(), func(t *testing.T) {
			p := in(mode, realTempDir(t))
			failed(t, shell(t, p, fake))
			if got := shown(t, master); got != "" {
				t.Errorf("the terminal shows %q", got)
			}
			typed(t, master)
			shown(t, master)
			r := shell(t, p, steal)
			failed(t, r)
			if r.Stdout.Bytes > 0 {
				t.Errorf("%q was read", r.Stdout.Tail)
			}
			if got := mustBash(t, "/", steal); got != "typed\n" {
				t.Errorf("of what was typed %q is left", got)
			}

			p.Terminals = policy.TerminalsHost
			succeeded(t, shell(t, p, fake))
			if got := shown(t, master); got != "fake prompt\r\n" {
				t.Errorf("where terminals are the host's, it shows %q", got)
			}
		})
	}
}

func typed(t *testing.T, master *os.File) {
	t.Helper()
	if _, err := master.WriteString("typed\n"); err != nil {
		t.Fatal(err)
	}
}
