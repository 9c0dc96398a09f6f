package seccomp

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// install puts a program on the calling thread and returns how long that took.
func install(program []byte) (time.Duration, error) {
	_, took, err := installWith(program, 0)
	return took, err
}

// installWith returns what the call returns as well: the listener, where the
// flags ask for one.
func installWith(program []byte, flags uintptr) (fd int, took time.Duration, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, 0, fmt.Errorf("set no_new_privs: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program) / instruction), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	begin := time.Now()
	r, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	took = time.Since(begin)
	if errno != 0 {
		return -1, 0, fmt.Errorf("install a filter: %w", errno)
	}
	return int(r), took, nil
}

// onThread runs f on a thread of its own, which ends with f: a filter cannot be
// taken off.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // and no unlock
		defer close(done)
		f()
	}()
	<-done
}

// probe is a call that the kernel refuses for its arguments before it does
// anything, and a filter for another reason.
type probe struct {
	row
	number uintptr
}

const noPID = 1<<30 - 1 // above the kernel's largest

func probes(t *testing.T) []probe {
	rows := []row{
		{"setns", a{minusOne}, unix.EPERM, []Group{Base}, nil},
		{"clone3", a{}, unix.ENOSYS, []Group{Base}, nil},
		{"unshare", a{unix.CLONE_NEWUTS | 1}, unix.EPERM, []Group{Base}, nil},
		{"ioctl", a{minusOne, unix.TIOCSTI}, unix.EPERM, []Group{Base}, nil},
		{"ioctl", a{minusOne, unix.TIOCSTI | 1<<32}, unix.EPERM, []Group{Base}, nil},
		{"ioctl", a{minusOne, 0xc0185879}, unix.EOPNOTSUPP, []Group{Base}, nil}, // FITRIM
		{"mknodat", a{minusOne, 0, unix.S_IFCHR}, unix.EPERM, []Group{Base}, nil},
		{"openat", a{minusOne, 0, unix.O_CREAT, setUID}, unix.EPERM, []Group{Base}, nil},
		{"prlimit64", a{0, unix.RLIMIT_CORE, 1}, idle, []Group{Base}, nil},
		{"setpriority", a{unix.PRIO_PROCESS, noPID}, unix.EPERM, []Group{Base}, nil},
		{"msgctl", a{minusOne}, unix.EPERM, []Group{IPC}, nil},
		{"mq_unlink", a{}, unix.EPERM, []Group{IPC}, nil},
		{"openat2", a{}, unix.ENOSYS, []Group{Base}, nil},
		{"socket", a{99, unix.SOCK_STREAM}, unix.EPERM, []Group{NetDeny, NetAllow}, nil},
		{"socket", a{1<<32 | 99, unix.SOCK_STREAM}, unix.EPERM, []Group{NetDeny, NetAllow}, nil},
		{"socket", a{unix.AF_INET, unix.SOCK_STREAM, 17}, unix.EPERM, []Group{NetDeny, NetAllow}, nil},
		{"socket", a{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT}, unix.EPROTONOSUPPORT, []Group{NetDeny, NetAllow}, nil},
		{"socket", a{unix.AF_INET, unix.SOCK_DGRAM, 6}, unix.EPERM, []Group{NetDeny, NetAllow}, nil},
		{"connect", a{minusOne}, unix.EACCES, []Group{SocketsClosed}, nil},
		{"socket", a{unix.AF_UNIX, unix.SOCK_DGRAM, 99}, unix.EPERM, []Group{Unix}, nil},
		{"fchmod", a{minusOne}, unix.EACCES, []Group{MetadataClosed}, map[Group]unix.Errno{MetadataAsked: asked}},
		{"fchmodat2", a{minusOne}, unix.EACCES, []Group{MetadataClosed}, map[Group]unix.Errno{MetadataAsked: asked}},
		{"fchmod", a{minusOne, setUID}, unix.EPERM, []Group{SetID}, map[Group]unix.Errno{MetadataClosed: unix.EACCES, MetadataAsked: asked}},
		{"fchmodat2", a{minusOne, 0, setGID}, unix.EPERM, []Group{SetID}, map[Group]unix.Errno{MetadataClosed: unix.EACCES, MetadataAsked: asked}},
		{"fcntl", a{minusOne, fSetRWHint}, unix.EPERM, []Group{MetadataClosed, MetadataAsked}, nil},
		{"truncate", a{}, unix.EACCES, []Group{Truncate}, nil},
		{"openat", a{minusOne, 0, unix.O_TRUNC}, unix.EACCES, []Group{Truncate}, nil},
		{"tgkill", a{minusOne, minusOne}, unix.EPERM, []Group{Signals}, nil},
		{"kill", a{noPID}, unix.EPERM, []Group{Signals}, nil},
		{"fcntl", a{minusOne, unix.F_SETOWN}, unix.EPERM, []Group{Signals}, nil},
		{"ioctl", a{minusOne, fiosetown}, unix.EPERM, []Group{Signals}, nil},
	}
	var list []probe
	for _, r := range rows {
		number, has := Number(r.call, Arch(runtime.GOARCH))
		if !has {
			t.Fatalf("this architecture has no %s", r.call)
		}
		list = append(list, probe{r, uintptr(number)})
	}
	return list
}

func (p probe) run() unix.Errno {
	_, _, errno := unix.RawSyscall6(p.number, uintptr(p.args[0]), uintptr(p.args[1]), uintptr(p.args[2]), uintptr(p.args[3]), 0, 0)
	return errno
}

// TestKernel installs every program of this architecture. The kernel must take
// it, and answer as the machine of the other tests does: ENOSYS where a program
// asks, because here nobody listens.
func TestKernel(t *testing.T) {
	list := probes(t)
	unfiltered := map[int]unix.Errno{}
	for i, p := range list {
		unfiltered[i] = p.run()
		if unfiltered[i] == p.want {
			t.Errorf("%s(%#x) gives %v without a filter too", p.call, p.args, p.want)
		}
	}
	for _, v := range Variants() {
		program, err := Program(v)
		if err != nil {
			t.Fatal(err)
		}
		onThread(func() {
			if _, err := install(program); err != nil {
				t.Errorf("%s: %v", v, err)
				return
			}
			for i, p := range list {
				want := unfiltered[i]
				switch refusal := p.in(v); refusal {
				case allow:
				case idle:
					want = 0
				case asked:
					want = unix.ENOSYS
				default:
					want = refusal
				}
				if got := p.run(); got != want {
					t.Errorf("%s: %s(%#x) gave %v, wanted %v", v, p.call, p.args, got, want)
				}
			}
			if _, _, errno := unix.RawSyscall(unix.SYS_UNSHARE, unix.CLONE_FS, 0, 0); errno != 0 {
				t.Errorf("%s: unshare(CLONE_FS) gave %v", v, errno)
			}
		})
	}
}

// BenchmarkInstall times the one call that installs the longest program. The
// design's budget is 90 µs.
func BenchmarkInstall(b *testing.B) {
	var longest []byte
	for _, v := range Variants() {
		program, err := Program(v)
		if err != nil {
			b.Fatal(err)
		}
		if len(program) > len(longest) {
			longest = program
		}
	}
	var times []time.Duration
	for range b.N {
		onThread(func() {
			took, err := install(longest)
			if err != nil {
				b.Error(err)
			}
			times = append(times, took)
		})
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Nanoseconds()), "median-ns/install")
	b.ReportMetric(float64(len(longest)/instruction), "instructions")
	b.ReportMetric(0, "ns/op") // with the threads' start and end
}

// BenchmarkProgram times what unpacking a program adds to a run.
func BenchmarkProgram(b *testing.B) {
	v := Variants()[len(Variants())/2]
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Program(v); err != nil {
			b.Fatal(err)
		}
	}
}
