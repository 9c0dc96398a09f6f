package broker

import (
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// auditArch is what the kernel calls this architecture's calls.
const auditArch = unix.AUDIT_ARCH_X86_64

func legacyShapes() map[int32]shape {
	return map[int32]shape{
		unix.SYS_CHMOD:     onPath(fact.OpChmod),
		unix.SYS_CHOWN:     onPath(fact.OpChown),
		unix.SYS_LCHOWN:    onLink(fact.OpChown),
		unix.SYS_UTIME:     timed(onPath(fact.OpUtime), seconds),
		unix.SYS_UTIMES:    timed(onPath(fact.OpUtime), microseconds),
		unix.SYS_FUTIMESAT: timed(at(fact.OpUtime, none), microseconds),
	}
}

// untagged is an address as the kernel uses it.
func untagged(address uint64) uint64 { return address }
