package integration

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const hasInt80 = true

// int80Chmod makes i386's chmod, whose number is 15. The code and the path lie
// in a page below 4 GiB: i386 has no longer addresses. Go passes the first three
// integers in ax, bx and cx (abi-internal.md), where int 0x80 takes them too.
func int80Chmod(path string, mode uintptr) error {
	const where = 2048 // of the path, in the page
	page, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, 4096,
		unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_32BIT, ^uintptr(0), 0)
	if errno != 0 {
		return fmt.Errorf("map a page of code: %s", errno)
	}
	memory := unsafe.Slice(*(**byte)(unsafe.Pointer(&page)), 4096)
	copy(memory, "\xcd\x80\xc3") // int 0x80; ret
	copy(memory[where:], path+"\x00")
	closure := &page // a func is a pointer to the address of its code
	chmod := *(*func(number, path, mode uintptr) uintptr)(unsafe.Pointer(&closure))
	if result := int32(chmod(15, page+where, mode)); result < 0 {
		return syscall.Errno(-result)
	}
	return nil
}
