package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/confine/cgroups"
)

// child is a helper, and then the command that it became.
type child struct {
	pid     int
	pidfd   *os.File
	raw     syscall.RawConn
	control *conn
	options Options
	group   *group         // set before anybody else sees the child; may be nil
	rusage  syscall.Rusage // set when it is reaped
	// spared is a process that is nobody's but the keeper's; 0 is none.
	spared func() int

	dead    chan struct{} // closed when it is a zombie, or watching failed
	watched error         // set before dead is closed

	mu     sync.Mutex
	reaped bool
}

// startHelper starts a helper with an empty environment, the directory / and
// no descriptor but its socket: nothing of the caller reaches code that is not
// yet confined. The command dies with the thread that calls this. group is the
// control group to start it in, or nil.
func startHelper(path string, o Options, group *os.File, spared func() int) (*child, error) {
	control, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer unix.Close(theirs)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		control.close()
		return nil, err
	}
	defer null.Close()
	pidfd := -1
	sys := &syscall.SysProcAttr{PidFD: &pidfd, Pdeathsig: syscall.SIGKILL, UseCgroupFD: group != nil}
	if group != nil {
		sys.CgroupFD = int(group.Fd())
	}
	pid, _, err := syscall.StartProcess(path, []string{confine.HelperName}, &syscall.ProcAttr{
		Dir:   "/",
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), uintptr(theirs)},
		Sys:   sys,
	})
	if err != nil {
		control.close()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return newChild(&child{pid: pid, control: control, options: o, spared: spared}, pidfd)
}

// newChild hands a started helper to the poller.
func newChild(c *child, pidfd int) (*child, error) {
	c.dead = make(chan struct{})
	err := error(unix.ENOSYS)
	if pidfd >= 0 {
		c.pidfd, c.raw, err = pollable(pidfd, "pidfd")
	}
	if err != nil {
		c.control.close()
		_ = unix.Kill(c.pid, unix.SIGKILL)
		_ = eintr(func() error { _, err := unix.Wait4(c.pid, nil, 0, nil); return err })
		return nil, fmt.Errorf("watch process %d: %w", c.pid, err)
	}
	go c.watch()
	return c, nil
}

// lastWords is how long a dead helper's answer may still take to be read.
const lastWords = time.Second

// watch waits for the child's death. What is left to hear then is in the
// socket already: a child of a wrong helper may hold it open for ever.
func (c *child) watch() {
	c.watched = c.zombie()
	_ = c.control.file.SetReadDeadline(time.Now().Add(lastWords))
	close(c.dead)
}

// hand gives the helper its plan.
func (c *child) hand(files []*os.File) error {
	return c.control.sendBytes([]byte{1}, files...)
}

// answer waits for the helper's last word. Success is "ready" followed by end
// of file, which the kernel gives when execve closes the socket. Where the plan
// asks for a broker the filter's listener comes before: it goes to serve, and the
// helper waits until that is done.
func (c *child) answer(serve func(listener *os.File) error) (last confine.Answer, err error) {
	defer c.control.close()
	for {
		body, files, err := c.control.receiveBytes()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return last, io.ErrUnexpectedEOF
		}
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			if last.Ready {
				return last, nil
			}
			return last, io.ErrUnexpectedEOF
		}
		if err == nil {
			last, err = confine.ParseAnswer(body)
		}
		if err == nil && last.Listener {
			err = c.listen(files, serve)
			files = nil
		}
		closeAll(files)
		if err != nil || !last.Ready && !last.Listener {
			return last, err
		}
	}
}

// listen hands the listener on and lets the helper go on.
func (c *child) listen(files []*os.File, serve func(*os.File) error) error {
	if len(files) != 1 {
		closeAll(files)
		return fmt.Errorf("take the listener: got %d descriptors, wanted 1: %w", len(files), unix.EPROTO)
	}
	if err := serve(files[0]); err != nil {
		return err
	}
	return c.control.sendBytes([]byte{1})
}

// discard ends a helper that got no plan.
func (c *child) discard() error {
	c.control.close()
	c.signal(unix.SIGKILL)
	_, err := c.wait()
	return err
}

// signal sends to the whole process group, or to the helper where it has not
// made one yet. A reaped child is left alone: its number may be another's. A
// process that took another user's identity may not be ours to signal; who
// waits for the end has a deadline.
func (c *child) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return
	}
	if errors.Is(unix.Kill(-c.pid, sig), unix.ESRCH) {
		_ = unix.Kill(c.pid, sig)
	}
	if c.group.signal(c.pid, sig) {
		return
	}
	if c.options.OwnTree {
		signalStrays(sig, c.pid, c.spared())
	}
}

// wait waits for the end of the child, kills what is left of its process
// group, and reaps it, in this order: while the child is a zombie the group's
// number cannot be given to anybody else.
func (c *child) wait() (event, error) {
	defer c.pidfd.Close()
	c.attend()
	var end event
	left := c.group.kill() // first: the process group's members are counted here
	c.signal(unix.SIGKILL) // the group, and itself where it could not be watched
	if c.options.OwnTree { // all members are descendants: this walk has the last word
		end.Leftover, left = killTree(c.pid, c.spared())
	}
	end.Survived = left != nil
	status, err := c.bury()
	end.Status = status
	c.group.count(&end, c.rusage)
	return end, errors.Join(c.watched, err)
}

// reapEvery is how often the dead that a command leaves behind are reaped.
const reapEvery = 50 * time.Millisecond

// attend waits for the child's death. Where all that it leaves behind becomes
// ours, that is reaped meanwhile.
func (c *child) attend() {
	if !c.options.OwnTree {
		<-c.dead
		return
	}
	tick := time.NewTicker(reapEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.dead:
			return
		case <-tick.C:
			c.reapStrays()
		}
	}
}

// reapStrays excludes signal: between its look at a number and its use of it the
// number must not be given to another process.
func (c *child) reapStrays() {
	c.mu.Lock()
	defer c.mu.Unlock()
	reapStrays(c.pid, c.spared())
}

// bury reaps the dead child, or where that cannot be reads its status.
func (c *child) bury() (syscall.WaitStatus, error) {
	for range reapTries {
		if status, reaped, err := c.reap(); reaped || err != nil {
			return status, err
		}
		time.Sleep(reapPause)
	}
	return exitCode(c.pid)
}

// A process that another one traces stays a zombie that nobody can reap until
// the tracer lets go. Who traces a command's leader may have left its group, so
// that wait is not endless; the zombie is buried later.
const (
	reapTries = 100
	reapPause = 5 * time.Millisecond
)

// EndPatience is how long the end of a killed command may take.
const EndPatience = treePatience + 2*cgroups.Patience + reapTries*reapPause + 2*time.Second

// reap takes the dead child's status, if a tracer does not hold it back.
func (c *child) reap() (status syscall.WaitStatus, reaped bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return 0, true, nil
	}
	var pid int
	err = eintr(func() (err error) {
		pid, err = syscall.Wait4(c.pid, &status, syscall.WNOHANG, &c.rusage)
		return err
	})
	c.reaped = pid == c.pid || errors.Is(err, unix.ECHILD)
	return status, c.reaped, err
}

// exitCode reads the wait status of a zombie that cannot be reaped: field 52
// of /proc/PID/stat.
func exitCode(pid int) (syscall.WaitStatus, error) {
	fields, err := statFields(uint64(pid))
	if err != nil {
		return 0, err
	}
	code, err := strconv.ParseUint(fields[len(fields)-1], 10, 32)
	return syscall.WaitStatus(code), err
}

// zombie waits in the poller until the child is dead, and leaves it unreaped.
// A pidfd can be read from that moment on, also where a tracer hides the death
// from waitid.
func (c *child) zombie() error {
	var err error
	wait := c.raw.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		err = eintr(func() error {
			_, err := unix.Poll(poll, 0)
			return err
		})
		return err != nil || poll[0].Revents != 0
	})
	return errors.Join(wait, err)
}
