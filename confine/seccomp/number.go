package seccomp

import (
	"fmt"
	"slices"
	"strings"
)

// The newest system call that this project has read, and the first kernel that
// has it. A later call gets ENOSYS until somebody has read it: no rule here can
// know what it does. The number is that of file_setattr on both architectures,
// as every call from 424 on has one number everywhere.
const (
	NewestCall   = 469
	NewestKernel = "6.17"
)

// NewestLibseccomp is the newest call that libseccomp 2.5.4 knows,
// set_mempolicy_home_node. Later ones are handled before its part of a program.
const NewestLibseccomp = 450

// Arch is an architecture that has programs, by Go's name.
type Arch string

// The architectures.
const (
	AMD64 Arch = "amd64"
	ARM64 Arch = "arm64"
)

// Arches lists the architectures that have programs.
func Arches() []Arch { return []Arch{AMD64, ARM64} }

// Audit returns the kernel's number of the architecture, as a filter sees it
// (include/uapi/linux/audit.h).
func (a Arch) Audit() (uint32, error) {
	switch a {
	case AMD64:
		return 0xc000003e, nil
	case ARM64:
		return 0xc00000b7, nil
	}
	return 0, fmt.Errorf("no filters for architecture %q", string(a))
}

// numbers is a row of the generated table: the number of a call on each
// architecture, -1 where there is none.
type numbers struct {
	call         string
	amd64, arm64 int16
}

// Number returns the number of a call, or false where the architecture does not
// have it.
func Number(call string, arch Arch) (int, bool) {
	i, found := slices.BinarySearchFunc(calls[:], call, func(n numbers, call string) int {
		return strings.Compare(n.call, call)
	})
	if !found {
		return 0, false
	}
	number := int(calls[i].amd64)
	if arch == ARM64 {
		number = int(calls[i].arm64)
	}
	return number, number >= 0
}
