package executor

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

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
	// flooding is the output that makes a flood, in bytes.
	flooding = 256 << 10
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

// width is how one pipe is read: narrow until a flood shows, then wide where
// somebody waits for it and there is a place.
type width struct {
	shared *widths
	kind   kind
	total  int64 // read so far, in bytes
	last   int   // of that what the last read gave
	has    bool  // one of the places
	denied bool  // the kernel grants no more
}

// gather is how long a wide pipe may fill before it is read again. Else each small
// write of the command would cost a wake-up. A pipe that is full sooner has the
// command wait; for 1 MiB that is at 4 GB/s.
const gather = time.Millisecond

// read waits for output and returns some. It holds no buffer while it waits.
// The error is io.EOF at the end; put gives the buffer back.
func (w *width) read(raw syscall.RawConn) (b []byte, err error) {
	if w.has && w.last < wideRead {
		time.Sleep(gather)
	}
	failed := raw.Read(func(fd uintptr) bool {
		buffer := w.get()
		var n int
		n, err = readNow(int(fd), buffer)
		b = buffer[:n]
		if errors.Is(err, unix.EAGAIN) {
			w.put(b)
			return false
		}
		w.count(int(fd), n)
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

func (w *width) count(fd, n int) {
	w.last = n
	if w.total += int64(n); w.total > flooding && w.kind == foreground && !w.has && !w.denied {
		w.widen(fd)
	}
}

func (w *width) widen(fd int) {
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
