package seccomp

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const nativeArch = Arch(runtime.GOARCH)

// TestNativeNumbers compares the generated table with the constants as the
// compiler sees them.
func TestNativeNumbers(t *testing.T) {
	if len(nativeNumbers) < 250 {
		t.Errorf("%d constants, expected some 300", len(nativeNumbers))
	}
	for call, want := range nativeNumbers {
		if got, known := Number(call, nativeArch); got != want || !known {
			t.Errorf("Number(%s) = %d, %v; golang.org/x/sys/unix says %d", call, got, known, want)
		}
	}
	for _, c := range calls {
		if number, has := Number(c.call, nativeArch); has != (number >= 0) {
			t.Errorf("Number(%s) = %d, %v", c.call, number, has)
		} else if _, known := nativeNumbers[c.call]; known != has {
			t.Errorf("the table has %s: %v; golang.org/x/sys/unix: %v", c.call, has, known)
		}
	}
	sorted := slices.IsSortedFunc(calls[:], func(a, b numbers) int { return strings.Compare(a.call, b.call) })
	if !sorted {
		t.Error("the table is not sorted")
	}
	if number, known := Number("no_such_call", nativeArch); known {
		t.Errorf("no_such_call is %d", number)
	}
}

// TestNewest ties the constants to names, and the architectures to each other
// where the rules of the prelude take one number for both.
func TestNewest(t *testing.T) {
	if NewestCall != unix.SYS_FILE_SETATTR {
		t.Errorf("the newest call is %d, file_setattr %d", NewestCall, unix.SYS_FILE_SETATTR)
	}
	if NewestLibseccomp != unix.SYS_SET_MEMPOLICY_HOME_NODE {
		t.Errorf("libseccomp's newest call is %d, set_mempolicy_home_node %d", NewestLibseccomp, unix.SYS_SET_MEMPOLICY_HOME_NODE)
	}
	for _, c := range calls {
		if c.amd64 > NewestLibseccomp && c.arm64 != c.amd64 && c.arm64 >= 0 {
			t.Errorf("%s is %d and %d", c.call, c.amd64, c.arm64)
		}
	}
}
