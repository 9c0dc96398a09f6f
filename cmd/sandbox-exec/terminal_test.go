package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// terminal makes a pseudo-terminal; both ends are closed with the test.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	kerneltest.Require(t, kerneltest.Terminal)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// Case E10: a command started from a terminal has an empty input. It is never
// stopped by reading, and takes no keystrokes.
func TestTerminalIsNotTheInput(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	for name, want := range map[string]string{
		"bash":         "typed\n",
		"sandbox-exec": "",
	} {
		t.Run(name, func(t *testing.T) {
			master, slave := terminal(t)
			if _, err := master.WriteString("typed\n"); err != nil {
				t.Fatal(err)
			}
			cmd := command(t, t.TempDir(), "bash", "-c", "head -n 1; echo done")
			if name == "sandbox-exec" {
				cmd = command(t, t.TempDir(), name, "run", "-c", "head -n 1; echo done; read x || echo end; cat")
				want += "done\nend\n"
			} else {
				want += "done\n"
			}
			cmd.Stdin = slave
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if o := finish(t, cmd); o.status != 0 || o.stdout != want {
				t.Errorf("got %+v, want the output %q", o, want)
			}
		})
	}
}

// Nor is it the command's controlling terminal: /dev/tty leads nowhere.
func TestNoControllingTerminal(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	const ask = "(exec 3</dev/tty) 2>/dev/null && echo has one || echo has none"
	for want, args := range map[string][]string{
		"has one":  {"bash", "-c", ask},
		"has none": {"sandbox-exec", "run", "-c", ask},
	} {
		_, slave := terminal(t)
		cmd := command(t, t.TempDir(), args[0], args[1:]...)
		cmd.Stdin = slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if o := finish(t, cmd); strings.TrimSpace(o.stdout) != want {
			t.Errorf("%s: got %+v, want %q", args[0], o, want)
		}
	}
}
