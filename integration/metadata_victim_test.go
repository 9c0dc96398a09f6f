package integration

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// metadataAct is one call on one file.
type metadataAct struct {
	Call, Form  string
	Data        []string `json:",omitempty"` // instead of the call's own
	Tree, Other string
}

func (a metadataAct) String() string { return fmt.Sprintf("%s(%s)%q", a.Call, a.Form, a.Data) }

// metadataDone is what became of it, as its caller sees it.
type metadataDone struct {
	Errno syscall.Errno
	Seen  string // the file without a name
	// Before and After are the tree where the victim made it itself.
	Before, After metadataStates `json:",omitempty"`
}

// metadataVictim makes the acts on standard input, one after the other.
func metadataVictim() error {
	if unix.Gettid() != os.Getpid() { // /proc/self is the first thread's
		return unix.Exec("/proc/self/exe", os.Args, os.Environ())
	}
	var acts []metadataAct
	if err := json.NewDecoder(os.Stdin).Decode(&acts); err != nil {
		return err
	}
	var done []metadataDone
	for _, act := range acts {
		d, err := act.do()
		if err != nil {
			return fmt.Errorf("%s: %w", act, err)
		}
		done = append(done, d)
	}
	return json.NewEncoder(os.Stdout).Encode(done)
}

const metadataScratch = "$TMPDIR"

func (act metadataAct) do() (metadataDone, error) {
	var done metadataDone
	own := strings.HasPrefix(act.Tree, metadataScratch)
	act.Tree = strings.Replace(act.Tree, metadataScratch, os.Getenv("TMPDIR"), 1)
	act.Other = strings.Replace(act.Other, metadataScratch, os.Getenv("TMPDIR"), 1)
	if own {
		if err := metadataTree(act.Tree, act.Other, act.Form); err != nil {
			return done, err
		}
		done.Before = metadataLook(act.Tree)
	}
	a := &metadataActor{tree: act.Tree, fd: unix.AT_FDCWD, seen: -1}
	a.act(act)
	done.Errno, done.Seen = a.errno, a.saw
	if own {
		done.After = metadataLook(act.Tree)
		metadataUnlock(act.Tree)
		a.fail(os.RemoveAll(act.Tree)) // all of them would take the executor long
	}
	return done, a.err
}

// metadataActor prepares one call and makes it, on the first thread or on one
// with a directory and descriptors of its own.
type metadataActor struct {
	tree  string
	fd    int
	path  uintptr
	flags int

	run    chan func() // to the second thread
	fds    []int
	seen   int
	saw    string
	memory [][]byte
	errno  syscall.Errno
	err    error
}

const metadataBad = 16 // an address where nothing ever is

func (a *metadataActor) act(act metadataAct) {
	call, known := metadataCallNamed(act.Call)
	form, found := metadataFormNamed(act.Form)
	if !known || !found {
		a.fail(errors.New("there is no such act"))
		return
	}
	form.set(a)
	if act.Data == nil {
		act.Data = call.words
	}
	if a.err == nil {
		a.call(call, act.Data)
	}
	a.leave()
}

// leave undoes what the form did to this process.
func (a *metadataActor) leave() {
	if a.run != nil {
		close(a.run) // its thread ends, with all that it has open
		return
	}
	for _, fd := range a.fds {
		_ = unix.Close(fd)
	}
	a.fail(unix.Chdir("/"))
}

func metadataFormNamed(name string) (metadataForm, bool) {
	for _, f := range metadataForms() {
		if f.name == name {
			return f, true
		}
	}
	return metadataForm{}, false
}

func (a *metadataActor) call(c metadataCall, words []string) {
	var args [6]uintptr
	for i, word := range words {
		args[c.data+i] = a.word(word)
	}
	set := func(at int, value uintptr) {
		if at != metadataNone {
			args[at] = value
		}
	}
	set(c.fd, uintptr(a.fd))
	set(c.path, a.path)
	set(c.flags, uintptr(a.flags))
	number, _ := c.number()
	a.here(func() {
		_, _, a.errno = unix.RawSyscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
		if a.seen >= 0 {
			a.saw = metadataOpened(a.seen)
		}
	})
	runtime.KeepAlive(a.memory)
}

func (a *metadataActor) fail(err error) { a.err = errors.Join(a.err, err) }

// here runs on the thread that will make the call.
func (a *metadataActor) here(f func()) {
	if a.run == nil {
		f()
		return
	}
	done := make(chan struct{})
	a.run <- func() { f(); close(done) }
	<-done
}

// thread has the rest done by another thread of the process, with a directory
// and descriptors of its own.
func (a *metadataActor) thread() {
	run := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range run {
			f()
		}
	}()
	a.run = run
	a.here(func() { a.fail(unix.Unshare(unix.CLONE_FS | unix.CLONE_FILES)) })
}

func (a *metadataActor) at(path string) { a.path = a.text(path) }

func (a *metadataActor) below(dir int, path string) { a.fd, a.path = dir, a.text(path) }

func (a *metadataActor) chdir(dir string) { a.here(func() { a.fail(unix.Chdir(dir)) }) }

func (a *metadataActor) open(path string, flags int) (fd int) {
	a.here(func() { fd = a.opened(unix.Open(path, flags|unix.O_CLOEXEC, 0)) })
	return fd
}

func (a *metadataActor) opened(fd int, err error) int {
	a.fail(err)
	a.fds = append(a.fds, fd)
	return fd
}

// see has the open file looked at afterwards.
func (a *metadataActor) see(fd int) int {
	a.seen = fd
	return fd
}

func (a *metadataActor) pipe() int {
	var ends [2]int
	return a.opened(ends[0], unix.Pipe2(ends[:], unix.O_CLOEXEC))
}

func (a *metadataActor) socket() int {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return a.opened(ends[0], err)
}

// unlinked is a file that lay in the scratch directory. An os.File would show the
// runtime's poller this thread's descriptors.
func (a *metadataActor) unlinked() int {
	path := fmt.Sprintf("%s/unlinked-%d", os.TempDir(), unix.Gettid())
	fd := a.opened(unix.Open(path, unix.O_CREAT|unix.O_EXCL|unix.O_RDWR|unix.O_CLOEXEC, 0o644))
	a.fail(unix.Unlink(path))
	return fd
}

// gone is a directory, open by its place, that has no name any more.
func (a *metadataActor) gone() string {
	dir, err := os.MkdirTemp("", "gone")
	a.fail(err)
	fd := a.open(dir, unix.O_PATH|unix.O_DIRECTORY)
	a.fail(os.Remove(dir))
	return fmt.Sprintf("/proc/thread-self/fd/%d", fd)
}

// numbered puts the numbers of process and thread into a path.
func (a *metadataActor) numbered(path string) string {
	var tid int
	a.here(func() { tid = unix.Gettid() })
	return strings.NewReplacer("TID", strconv.Itoa(tid), "PID", strconv.Itoa(os.Getpid())).Replace(path)
}

func (a *metadataActor) text(s string) uintptr { return a.bytes([]byte(s + "\x00")) }

func (a *metadataActor) bytes(b []byte) uintptr {
	a.memory = append(a.memory, b)
	return uintptr(unsafe.Pointer(&b[0]))
}

// last puts text at the very end of mapped memory. Protected memory would not
// do: the broker reads that as a debugger does.
func (a *metadataActor) last(text string) uintptr {
	page := os.Getpagesize()
	size := (len(text) + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, size+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		a.fail(err)
		return 0
	}
	if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, uintptr(unsafe.Pointer(&memory[size])), uintptr(page), 0); errno != 0 {
		a.fail(errno)
	}
	at := size - len(text)
	copy(memory[at:], text)
	return uintptr(unsafe.Pointer(&memory[at]))
}

// word is a number, text:..., hex:... or bad, an address where nothing is.
func (a *metadataActor) word(word string) uintptr {
	if text, is := strings.CutPrefix(word, "text:"); is {
		return a.text(text)
	}
	if digits, is := strings.CutPrefix(word, "hex:"); is {
		b, err := hex.DecodeString(digits)
		a.fail(err)
		return a.bytes(b)
	}
	if word == "bad" {
		return metadataBad
	}
	n, err := victimNumber(word)
	a.fail(err)
	return uintptr(n)
}
