package broker

import "golang.org/x/sys/unix"

// auditArch is what the kernel calls this architecture's calls.
const auditArch = unix.AUDIT_ARCH_AARCH64

// legacyShapes is empty: this architecture never had the calls without "at".
func legacyShapes() map[int32]shape { return nil }

// untagged is an address as the kernel uses it: the top byte of a user address
// is the program's own (Documentation/arch/arm64/tagged-address-abi.rst).
func untagged(address uint64) uint64 { return uint64(int64(address<<8) >> 8) }
