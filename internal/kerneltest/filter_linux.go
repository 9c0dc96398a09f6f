package kerneltest

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (linux/seccomp.h).
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// runFiltered takes the filters, a path and an argument list, and becomes that
// program under those filters. It returns only an error.
func runFiltered(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("got %d arguments, want the filters, a path and an argument list", len(args))
	}
	var filters []Filter
	if err := json.Unmarshal([]byte(args[0]), &filters); err != nil {
		return fmt.Errorf("filters: %w", err)
	}
	program, err := assemble(filters)
	if err != nil {
		return err
	}
	return become(program, args[1], args[2:])
}

// become is the program under the filter.
func become(program []unix.SockFilter, path string, argv []string) error {
	// Both settings belong to a thread, and exec keeps those of its caller.
	runtime.LockOSThread()
	if err := install(program); err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", path, unix.Exec(path, argv, os.Environ()))
}

func install(program []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("prctl PR_SET_NO_NEW_PRIVS: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return fmt.Errorf("seccomp SET_MODE_FILTER: %w", errno)
	}
	return nil
}

// assemble returns one block per filter, each falling through to the next, and
// lets every call of another architecture and every unmatched call through.
func assemble(filters []Filter) ([]unix.SockFilter, error) {
	arch, err := auditArch()
	if err != nil {
		return nil, err
	}
	allow := statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW)
	program := []unix.SockFilter{load(offsetArch), jump(arch, 1, 0), allow}
	for _, f := range filters {
		block, err := f.block()
		if err != nil {
			return nil, err
		}
		program = append(program, block...)
	}
	return append(program, allow), nil
}

// block returns the instructions for one filter: every comparison that fails
// jumps behind the block's last instruction, which returns the errno.
func (f Filter) block() ([]unix.SockFilter, error) {
	type comparison struct{ offset, value uint32 }
	want := []comparison{{offsetNumber, f.Sysno}}
	for _, a := range f.Args {
		if a.Index < 0 || a.Index > 5 {
			return nil, fmt.Errorf("argument index %d: want 0 to 5", a.Index)
		}
		low := uint32(offsetArgs + 8*a.Index) // both architectures are little-endian
		want = append(want, comparison{low, uint32(a.Value)}, comparison{low + 4, uint32(a.Value >> 32)})
	}
	var block []unix.SockFilter
	for i, c := range want {
		left := 2*(len(want)-i-1) + 1
		block = append(block, load(c.offset), jump(c.value, 0, uint8(left)))
	}
	refuse := unix.SECCOMP_RET_ERRNO | uint32(f.Errno)&unix.SECCOMP_RET_DATA
	return append(block, statement(unix.BPF_RET|unix.BPF_K, refuse)), nil
}

func load(offset uint32) unix.SockFilter {
	return statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset)
}

func statement(code uint16, k uint32) unix.SockFilter {
	return unix.SockFilter{Code: code, K: k}
}

// jump skips `equal` instructions where the loaded word is k, else `other`.
func jump(k uint32, equal, other uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: equal, Jf: other, K: k}
}

func auditArch() (uint32, error) {
	switch runtime.GOARCH {
	case "amd64":
		return unix.AUDIT_ARCH_X86_64, nil
	case "arm64":
		return unix.AUDIT_ARCH_AARCH64, nil
	}
	return 0, fmt.Errorf("no filters for %s", runtime.GOARCH)
}
