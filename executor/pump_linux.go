package executor

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pump moves one stream of a command from its pipe to whoever wants it.
type pump struct {
	pipe  *os.File
	sink  io.Writer // may be nil
	done  chan struct{}
	spill *spill // the pump's own goroutine's
	width *width

	mu       sync.Mutex
	tail     tail
	progress progress
	path     string // of the spill file
	spillErr error
	sinkErr  error
}

// newPump returns a pump and the end of the pipe that the command gets.
func newPump(sink io.Writer, spill *spill, width *width) (*pump, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &pump{pipe: r, sink: sink, done: make(chan struct{}), spill: spill, width: width}, w, nil
}

// run reads until end of file, until settle's time is over, or until nobody
// wants the output any more.
func (p *pump) run() {
	defer close(p.done)
	defer p.finish()
	raw, err := p.pipe.SyscallConn()
	for err == nil {
		var b []byte
		if b, err = p.width.read(raw); !p.take(b) {
			err = io.ErrClosedPipe
		}
		p.width.put(b)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.rest()
	}
}

func (p *pump) finish() {
	p.pipe.Close()
	p.width.close()
	p.spill.close()
	p.mu.Lock()
	p.progress = over
	p.mu.Unlock()
}

// take keeps and passes on. It is false where the reader is gone: the pipe is
// then closed, so that the command gets SIGPIPE.
func (p *pump) take(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	p.keep(b)
	if p.sink == nil {
		return true
	}
	if _, err := p.sink.Write(b); err != nil {
		p.mu.Lock()
		p.sinkErr = err
		p.mu.Unlock()
		return false
	}
	return true
}

// keep spills first: a path that is told then has what was read. Nobody else
// writes the tail, and a slow disk must not hold its readers.
func (p *pump) keep(b []byte) {
	path, err := p.spill.write(&p.tail, b)
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.tail.Write(b)
	p.path, p.spillErr = path, err
}

// rest takes what lies in the pipe when the time is over: a slow reader must
// not cost what was written before.
func (p *pump) rest() {
	raw, err := p.pipe.SyscallConn()
	if err != nil {
		return
	}
	left := 1 << 20 // a pipe holds at most 1 MiB (fs.pipe-max-size)
	buffer := make([]byte, readSize)
	for left > 0 {
		n := 0
		err := raw.Control(func(fd uintptr) { n, _ = readNow(int(fd), buffer) })
		if err != nil || n <= 0 || !p.take(buffer[:n]) {
			return
		}
		left -= n
	}
}

// settle bounds how long end of file is waited for. The command is dead; only
// a process that left its group can still hold the pipe.
func (p *pump) settle(grace time.Duration) {
	_ = p.pipe.SetReadDeadline(time.Now().Add(grace))
}

func (p *pump) output() Output {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.tail.output()
	out.WriteError, out.Spill, out.SpillError = p.sinkErr, p.path, p.spillErr
	return out
}

func (p *pump) next() Delta {
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.tail.next(p.progress)
	d.Spill, d.SpillError = p.path, p.spillErr
	return d
}

// trim gives back the memory that only a stream which goes on needs.
func (p *pump) trim() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.progress == over { // else a writer that hangs has the pump still at work
		p.tail.kept = bytes.Clone(p.tail.end())
	}
}

// feed copies the caller's bytes to the command and closes its input. A
// command that does not read them all is no error.
func feed(w *os.File, r io.Reader) {
	defer w.Close()
	_, _ = io.Copy(w, r)
}

// readNow reads what is there without waiting.
func readNow(fd int, buffer []byte) (int, error) {
	for {
		n, err := unix.Read(fd, buffer)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0), err
		}
	}
}
