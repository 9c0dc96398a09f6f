package executor

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// pump moves one stream of a command from its pipe to whoever wants it.
type pump struct {
	pipe *os.File
	sink io.Writer // may be nil
	done chan struct{}

	mu      sync.Mutex
	tail    tail
	sinkErr error
}

// readSize is how much is read at once, in bytes: a pipe's usual size.
const readSize = 64 << 10

// newPump returns a pump and the end of the pipe that the command gets.
func newPump(sink io.Writer) (*pump, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &pump{pipe: r, sink: sink, done: make(chan struct{})}, w, nil
}

// run reads until end of file, until settle's time is over, or until nobody
// wants the output any more.
func (p *pump) run() {
	defer close(p.done)
	defer p.pipe.Close()
	buffer := make([]byte, readSize)
	for {
		n, err := p.pipe.Read(buffer)
		if !p.take(buffer[:n]) {
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			p.rest(buffer)
		}
		if err != nil {
			return
		}
	}
}

// take keeps and passes on. It is false where the reader is gone: the pipe is
// then closed, so that the command gets SIGPIPE.
func (p *pump) take(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	p.mu.Lock()
	_, _ = p.tail.Write(b)
	p.mu.Unlock()
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

// rest takes what lies in the pipe when the time is over: a slow reader must
// not cost what the command wrote before its end. It is bounded, because a
// process that got away may go on writing.
func (p *pump) rest(buffer []byte) {
	const most = 1 << 20 / readSize // a pipe holds at most 1 MiB (fs.pipe-max-size)
	raw, err := p.pipe.SyscallConn()
	if err != nil {
		return
	}
	for range most {
		n := 0
		err := raw.Control(func(fd uintptr) { n = readNow(int(fd), buffer) })
		if err != nil || n <= 0 || !p.take(buffer[:n]) {
			return
		}
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
	out.WriteError = p.sinkErr
	return out
}

// feed copies the caller's bytes to the command and closes its input. A
// command that does not read them all is no error.
func feed(w *os.File, r io.Reader) {
	defer w.Close()
	_, _ = io.Copy(w, r)
}

// readNow reads what is there without waiting; 0 where nothing is.
func readNow(fd int, buffer []byte) int {
	for {
		n, err := unix.Read(fd, buffer)
		if !errors.Is(err, unix.EINTR) {
			return max(n, 0)
		}
	}
}
