package executor

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// readSize is how much is read at once, in bytes: a pipe's usual size.
	readSize = 64 << 10
	// A flood costs less processor time through a wide pipe and in long reads.
	wideRead = 256 << 10
	widePipe = 1 << 20 // fs.pipe-max-size
	// mostWide is how many pipes of an executor are wide at a time. An ordinary
	// user has 64 MiB of pipes (fs.pipe-user-pages-soft): with all of it taken,
	// every new pipe of that user would be small.
	mostWide = 16
)

// widths is what the pipes of an executor share. A thousand commands without
// output hold no buffer.
type widths struct {
	narrow, wide sync.Pool
	places       atomic.Int32 // that are taken
}

// kind says who waits for a command.
type kind uint8

const (
	foreground kind = iota
	background
)

// width is how one pipe is read: narrow until a full read shows a flood, then
// wide where somebody waits for it and there is a place.
type width struct {
	shared *widths
	kind   kind
	has    bool // one of the places
	denied bool // the kernel grants no more
}

// read waits for output and returns some. It holds no buffer while it waits.
// The error is io.EOF at the end; put gives the buffer back.
func (w *width) read(raw syscall.RawConn) (b []byte, err error) {
	failed := raw.Read(func(fd uintptr) bool {
		buffer := w.get()
		var n int
		n, err = readNow(int(fd), buffer)
		b = buffer[:n]
		if errors.Is(err, unix.EAGAIN) {
			w.put(b)
			return false
		}
		w.adapt(int(fd), n)
		return true
	})
	switch {
	case failed != nil:
		return nil, failed // b was put back
	case err == nil && len(b) == 0:
		err = io.EOF
	}
	return b, err
}

// adapt widens a pipe that was full.
func (w *width) adapt(fd, n int) {
	if w.kind == background || w.has || w.denied || n < readSize {
		return
	}
	if w.has = w.shared.places.Add(1) <= mostWide; !w.has {
		w.shared.places.Add(-1)
		return
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, widePipe); err != nil {
		w.close() // the user's pipes are used up: EPERM
		w.denied = true
	}
}

// close gives the place back.
func (w *width) close() {
	if w.has {
		w.shared.places.Add(-1)
		w.has = false
	}
}

func (w *width) get() []byte {
	size, pool := readSize, &w.shared.narrow
	if w.has {
		size, pool = wideRead, &w.shared.wide
	}
	if b, found := pool.Get().(*[]byte); found {
		return *b
	}
	return make([]byte, size)
}

// put gives a buffer back, whose capacity tells where it came from.
func (w *width) put(b []byte) {
	b = b[:cap(b)]
	switch len(b) {
	case readSize:
		w.shared.narrow.Put(&b)
	case wideRead:
		w.shared.wide.Put(&b)
	}
}
