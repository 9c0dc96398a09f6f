package landlock

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// look reads what tells a blocked call from a missing one. Where it cannot be
// read the answer is the weaker claim, "missing".
func look() surroundings {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return surroundings{}
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return surroundings{expected: hasLandlock(unix.ByteSliceToString(name.Release[:]))}
	}
	return surroundings{
		expected: hasLandlock(unix.ByteSliceToString(name.Release[:])),
		filtered: bytes.Contains(status, []byte("\nSeccomp:\t2\n")),
	}
}

// hasLandlock reports whether a release is 5.13 or newer, the first with Landlock.
func hasLandlock(release string) bool {
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err != nil {
		return false
	}
	return major > 5 || major == 5 && minor >= 13
}
