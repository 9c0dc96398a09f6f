package integration

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
)

// victimProgram is what the filter's victims run as.
//
//	as-victim all                  every attempt on standard input, each in a process of its own
//	as-victim one CALL ARGUMENT... one attempt
//	as-victim under VARIANT        all, under that filter and nothing else
//	as-victim do EFFECT ARGUMENT...
//	as-victim metadata             every act on standard input
func victimProgram(args []string) int {
	runtime.LockOSThread()
	err := fmt.Errorf("%q: want all, one, under, do or metadata", args)
	switch args[0] {
	case "all":
		err = victimAll()
	case "one":
		err = victimOne(args[1], args[2:])
	case "under":
		err = victimUnder(args[1])
	case "do":
		err = victimDo(args[1], args[2:])
	case "metadata":
		err = metadataVictim()
	}
	status := 0
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	syscall.Exit(status) // os.Exit sleeps for a second under the race detector
	return status
}

// attempt is one raw system call. An argument is a number, or a word that the
// victim makes one of (victimWord).
type attempt struct {
	Call string
	Args []string
}

func (a attempt) String() string { return a.Call + "(" + strings.Join(a.Args, ", ") + ")" }

// victimAll prints one errno a line. Each attempt has its own session, because
// vhangup is one of them.
func victimAll() error {
	var attempts []attempt
	if err := json.NewDecoder(os.Stdin).Decode(&attempts); err != nil {
		return err
	}
	for _, a := range attempts {
		cmd := exec.Command("/proc/self/exe", append([]string{"as-victim", "one", a.Call}, a.Args...)...)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
		os.Stdout.Write(out)
	}
	return nil
}

func victimUnder(name string) error {
	for _, v := range seccomp.Variants() {
		if v.String() != name {
			continue
		}
		program, err := seccomp.Program(v)
		if err != nil {
			return err
		}
		if err := victimInstall(program); err != nil {
			return err
		}
		return unix.Exec("/proc/self/exe", []string{os.Args[0], "as-victim", "all"}, os.Environ())
	}
	return fmt.Errorf("no filter is called %q", name)
}

func victimInstall(program []byte) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	size := int(unsafe.Sizeof(unix.SockFilter{}))
	prog := unix.SockFprog{Len: uint16(len(program) / size), Filter: (*unix.SockFilter)(unsafe.Pointer(&program[0]))}
	_, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// victimOne makes one call and prints its errno, 0 for success.
func victimOne(call string, words []string) error {
	number, has := seccomp.Number(call, seccomp.Arch(runtime.GOARCH))
	if !has {
		return fmt.Errorf("this architecture has no %s", call)
	}
	var args [6]uintptr
	var held victimHeld
	for i, word := range words {
		var err error
		if args[i], err = held.word(word); err != nil {
			return err
		}
	}
	_, _, errno := unix.RawSyscall6(uintptr(number), args[0], args[1], args[2], args[3], args[4], args[5])
	runtime.KeepAlive(held.memory)
	fmt.Println(int(errno))
	return held.release()
}

// victimWords are all words and what their numbers look like to a rule: the
// addresses and the numbers of processes are not zero.
var victimWords = map[string]uint64{
	"zeros": victimAddress, "ones": victimAddress, "missing": victimAddress, "name": victimAddress, "attribute": victimAddress,
	"pipe": 3, "self": 1234, "child": 1234, "nobody": 0,
}

const (
	victimAddress = 0x7fff00001000
	victimNobody  = 54321 // a uid that has no processes
)

// victimHeld is what the words of one call need.
type victimHeld struct {
	memory [][]byte
	input  io.Closer // the child's
	child  *exec.Cmd
}

func (h *victimHeld) word(word string) (uintptr, error) {
	switch word {
	case "zeros":
		return h.bytes(make([]byte, 256)), nil
	case "ones":
		return h.bytes([]byte(strings.Repeat("\xff", 256))), nil
	case "missing":
		return h.bytes([]byte("/nonexistent/victim\x00")), nil
	case "name":
		return h.bytes([]byte("sandbox-exec-victim\x00")), nil
	case "attribute":
		return h.bytes([]byte("user.victim\x00")), nil
	case "pipe":
		var ends [2]int
		err := unix.Pipe2(ends[:], unix.O_CLOEXEC)
		return uintptr(ends[0]), err
	case "self":
		return uintptr(os.Getpid()), nil
	case "child":
		return h.start()
	case "nobody":
		return 0, victimBecome(victimNobody)
	}
	n, err := victimNumber(word)
	return uintptr(n), err
}

func victimNumber(word string) (uint64, error) {
	if strings.HasPrefix(word, "-") {
		n, err := strconv.ParseInt(word, 0, 64)
		return uint64(n), err
	}
	return strconv.ParseUint(word, 0, 64)
}

func (h *victimHeld) bytes(b []byte) uintptr {
	h.memory = append(h.memory, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// start starts a child that ends with its input: nobody here may send signals.
func (h *victimHeld) start() (uintptr, error) {
	if h.child == nil {
		h.child = exec.Command("cat")
		in, err := h.child.StdinPipe()
		if err != nil {
			return 0, err
		}
		h.input = in
		if err := h.child.Start(); err != nil {
			return 0, err
		}
	}
	return uintptr(h.child.Process.Pid), nil
}

func (h *victimHeld) release() error {
	if h.child == nil {
		return nil
	}
	h.input.Close()
	return h.child.Wait()
}

// victimBecome makes this thread another user's where it can, that is as root.
func victimBecome(uid uintptr) error {
	if os.Geteuid() != 0 {
		return nil
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETUID, uid, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
