package broker

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// Broker answers the calls of one run, until nothing of the run is left.
type Broker struct {
	listener *os.File
	raw      syscall.RawConn
	alarm    *alarm
	roots    *roots
	shapes   map[int32]shape
	threads  *Threads
	shared   int      // the first of the roots, which are not the run's own
	before   identity // our own, with all capabilities
	facts    facts

	workers atomic.Int32
	closed  atomic.Bool
	ended   chan struct{} // closed when nobody answers any more

	mu     sync.Mutex
	failed error
}

// Config is what a broker gets. All of it is needed.
type Config struct {
	// Listener is the filter's listener; the broker closes it.
	Listener *os.File
	// Roots are the files and directories beneath which metadata may be changed,
	// opened with O_PATH. They stay the caller's and must be open while the
	// broker runs. The last Private of them are the run's own: its scratch
	// directory.
	Roots   []*os.File
	Private int
	// Threads are what the broker works on; brokers may share them.
	Threads *Threads
}

// Serve starts to answer. It returns at once.
func Serve(c Config) (*Broker, error) {
	b := &Broker{threads: c.Threads, shared: len(c.Roots) - c.Private, shapes: shapes(), ended: make(chan struct{})}
	err := b.open(c)
	c.Listener.Close()
	if err == nil {
		if err = b.look(c.Roots); err != nil {
			b.shut()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("start the broker: %w", err)
	}
	go b.watch()
	return b, nil
}

// open takes a descriptor of its own, which the runtime's poller does not know.
func (b *Broker) open(c Config) error {
	fd, err := unix.FcntlInt(c.Listener.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, false); err != nil {
		unix.Close(fd)
		return err
	}
	wakeOnThisCPU(fd)
	b.listener = os.NewFile(uintptr(fd), "listener")
	if b.raw, err = b.listener.SyscallConn(); err == nil {
		b.alarm, err = newAlarm(fd)
	}
	if err != nil {
		b.listener.Close()
	}
	return err
}

// look learns who we are and where the roots lie.
func (b *Broker) look(files []*os.File) error {
	runtime.LockOSThread() // whose status is read
	defer runtime.UnlockOSThread()
	status, err := readThreadStatus()
	if err != nil {
		return err
	}
	if b.before, err = parseIdentity(status); err != nil {
		return err
	}
	b.roots, err = newRoots(files)
	return err
}

// use calls f with the listener, which stays open meanwhile.
func (b *Broker) use(f func(listener int) error) error {
	var err error
	closed := b.raw.Control(func(fd uintptr) { err = f(int(fd)) })
	return errors.Join(closed, err)
}

// Close ends the broker: the calls of what is left of the run fail with ENOSYS.
func (b *Broker) Close() {
	b.closed.Store(true)
	b.shut()
	<-b.ended
}

func (b *Broker) shut() {
	b.alarm.file.Close()
	b.listener.Close()
}

// Done is closed when nothing of the run is left, or after Close.
func (b *Broker) Done() <-chan struct{} { return b.ended }

// Facts returns what was refused so far, each once, and how many refusals more
// than are kept there were.
func (b *Broker) Facts() (list []fact.Denial, dropped int) { return b.facts.all() }

// Err is why the broker ended before the run did; nil where it did not.
func (b *Broker) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// fail ends a broker that cannot go on. Nothing is let through: without a
// listener the kernel refuses the calls.
func (b *Broker) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed.Swap(true) {
		b.failed = err
	}
}

// watch waits in the runtime's poller, which holds no thread, and has workers
// answer while calls come.
func (b *Broker) watch() {
	defer close(b.ended)
	for !b.closed.Load() && b.asked() {
		b.serve()
	}
	b.closed.Store(true) // what a worker that hangs finds then is no failure
	b.shut()
	b.dismiss()
}

// asked waits for a notification. It is false when none can come any more.
func (b *Broker) asked() bool {
	var events int16
	err := b.alarm.wait(func(alarm int) (done bool, err error) {
		err = b.use(func(listener int) error {
			// Armed first: a call that comes between a look and the arming wakes nobody.
			if err = arm(alarm, listener, unix.EPOLLIN); err != nil {
				return err
			}
			if events, err = pending(listener, 0); err != nil || events == 0 {
				return err
			}
			return arm(alarm, listener, 0)
		})
		return events != 0, err
	})
	if err != nil {
		b.fail(fmt.Errorf("wait for calls: %w", err)) // counts unless it was closed
	}
	return err == nil && events&unix.POLLIN != 0
}

// pending polls for that long. POLLHUP says that nothing uses the filter any more.
func pending(listener int, wait time.Duration) (int16, error) {
	poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(poll, int(wait/time.Millisecond))
		if !errors.Is(err, unix.EINTR) {
			return poll[0].Revents, err
		}
	}
}
