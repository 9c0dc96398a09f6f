package broker

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// twoPages are mapped, and the page behind them is not.
func twoPages(t *testing.T) []byte {
	t.Helper()
	size := unix.Getpagesize()
	memory, err := unix.Mmap(-1, 0, 3*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	must(t, err)
	t.Cleanup(func() { must(t, unix.Munmap(memory)) })
	_, _, errno := unix.Syscall(unix.SYS_MUNMAP, addressOf(memory[2*size:]), uintptr(size), 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	for i := range 2 * size {
		memory[i] = 'x'
	}
	return memory[: 2*size : 3*size]
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

func TestMemory(t *testing.T) {
	c := selfCaller(t)
	memory := twoPages(t)
	end := uint64(addressOf(memory)) + uint64(len(memory))
	for _, tt := range []struct {
		name    string
		address uint64
		last    byte // the last mapped byte
		want    int  // the length of the string
		err     error
	}{
		{"ends at the last byte", end - 10, 0, 9, nil},
		{"is the last byte", end - 1, 0, 0, nil},
		{"crosses a page", end - 4000, 0, 3999, nil},
		{"has no end", end - 10, 'x', 0, unix.EFAULT},
		{"is not mapped", end, 0, 0, unix.EFAULT},
		{"null", 0, 0, 0, unix.EFAULT},
		{"the kernel's", 1<<63 + 4096, 0, 0, unix.EFAULT},
		{"the last address", ^uint64(0), 0, 0, unix.EFAULT},
		{"is the longest", end - 4096, 0, 4095, nil},
		{"has 4096 bytes and no end", end - 4096, 'x', 0, unix.ENAMETOOLONG},
		{"has 4096 bytes and an end", end - 4097, 0, 0, unix.ENAMETOOLONG},
	} {
		memory[len(memory)-1] = tt.last
		got, err := c.path(tt.address)
		if !errors.Is(err, tt.err) || len(got) != tt.want || strings.Trim(got, "x") != "" {
			t.Errorf("%s: got %d bytes and %v, wanted %d and %v", tt.name, len(got), err, tt.want, tt.err)
		}
	}
}

func TestBytes(t *testing.T) {
	c := selfCaller(t)
	memory := twoPages(t)
	end := uint64(addressOf(memory)) + uint64(len(memory))
	for n, want := range map[uint64]error{16: nil, 15: unix.EFAULT, 0: unix.EFAULT} {
		if b, err := c.bytes(end-n, 16); !errors.Is(err, want) || err == nil && strings.Trim(string(b), "x") != "" {
			t.Errorf("16 bytes with %d left: got %q and %v, wanted %v", n, b, err, want)
		}
	}
}

// TestAttributeNames: a name has 255 bytes at the most.
func TestAttributeNames(t *testing.T) {
	c := selfCaller(t)
	for length, want := range map[int]error{1: nil, 255: nil, 256: unix.ERANGE, 0: unix.ERANGE} {
		name := append([]byte(strings.Repeat("n", length)), 0)
		r := request{shape: removing(onPath("xattr"))}
		r.args[1] = uint64(addressOf(name))
		got, err := r.change(c)
		if !errors.Is(err, want) || err == nil && got.(attributeChange).name != string(name[:length]) {
			t.Errorf("%d bytes: got %v and %v, wanted %v", length, got, err, want)
		}
	}
}
