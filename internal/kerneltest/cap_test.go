package kerneltest

import (
	"fmt"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUnderLandlock(t *testing.T) {
	Require(t, Landlock(1), Capped)
	real, err := LandlockABI()
	if err != nil {
		t.Fatal(err)
	}
	version := func() *exec.Cmd {
		return victimCommand(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	}
	if got := output(t, version()); got != fmt.Sprint(real, " 0") {
		t.Fatalf("without a cap: got %q", got)
	}
	for abi := 1; abi <= real; abi++ {
		if got := output(t, UnderLandlock(version(), abi)); got != fmt.Sprint(abi, " 0") {
			t.Errorf("capped to %d: got %q", abi, got)
		}
	}
	// A NULL attribute is EFAULT or EINVAL in the kernel.
	plain := output(t, victimCommand(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 0))
	if got := output(t, UnderLandlock(victimCommand(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, 0), 1)); got != plain {
		t.Errorf("the creation: got %q, want %q as without a cap", got, plain)
	}
}

func TestUnderLandlockPassesTheStatusOn(t *testing.T) {
	Require(t, Capped)
	for command, want := range map[string]string{
		"exit 3": "exit status 3", "kill -KILL $$": "exit status 137",
		"kill -USR1 $$": "exit status 138", "sh -c 'exit 4'": "exit status 4",
	} {
		if err := UnderLandlock(exec.Command("/bin/sh", "-c", command), 1).Run(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", command, err, want)
		}
	}
}
