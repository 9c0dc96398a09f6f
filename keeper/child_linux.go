package keeper

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
)

// child is a helper, and then the command that it became.
type child struct {
	pid     int
	pidfd   *os.File
	raw     syscall.RawConn
	control *conn

	mu     sync.Mutex
	reaped bool
}

// startHelper starts a helper with an empty environment, the directory / and
// no descriptor but its socket: nothing of the caller reaches code that is not
// yet confined. The command dies with the thread that calls this.
func startHelper(path string) (*child, error) {
	control, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		control.close()
		return nil, err
	}
	defer null.Close()
	pidfd := -1
	pid, _, err := syscall.StartProcess(path, []string{confine.HelperName}, &syscall.ProcAttr{
		Dir:   "/",
		Files: []uintptr{null.Fd(), null.Fd(), null.Fd(), theirs.Fd()},
		Sys:   &syscall.SysProcAttr{PidFD: &pidfd, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		control.close()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return newChild(pid, pidfd, control)
}

func newChild(pid, pidfd int, control *conn) (*child, error) {
	c := &child{pid: pid, control: control}
	err := error(unix.ENOSYS)
	if pidfd >= 0 {
		c.pidfd, c.raw, err = pollable(pidfd, "pidfd")
	}
	if err != nil {
		control.close()
		_ = unix.Kill(pid, unix.SIGKILL)
		_ = eintr(func() error { _, err := unix.Wait4(pid, nil, 0, nil); return err })
		return nil, fmt.Errorf("watch process %d: %w", pid, err)
	}
	return c, nil
}

// hand gives the helper its plan.
func (c *child) hand(files []*os.File) error {
	return c.control.sendBytes([]byte{1}, files...)
}

// answer waits for the helper's last word. Success is "ready" followed by end
// of file, which the kernel gives when execve closes the socket.
func (c *child) answer() (confine.Answer, error) {
	defer c.control.close()
	var last confine.Answer
	for {
		body, files, err := c.control.receiveBytes()
		closeAll(files)
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) {
			if last.Ready {
				return last, nil
			}
			return last, io.ErrUnexpectedEOF
		}
		if err != nil {
			return last, err
		}
		if last, err = confine.ParseAnswer(body); err != nil || !last.Ready {
			return last, err
		}
	}
}

// discard ends a helper that got no plan.
func (c *child) discard() error {
	c.control.close()
	c.signal(unix.SIGKILL)
	_, err := c.wait()
	return err
}

// signal sends to the whole process group, or to the helper where it has not
// made one yet. A reaped child is left alone: its number may be another's.
func (c *child) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return
	}
	if errors.Is(unix.Kill(-c.pid, sig), unix.ESRCH) {
		_ = unix.Kill(c.pid, sig)
	}
}

// wait waits for the end of the child, kills what is left of its process
// group, and reaps it, in this order: while the child is a zombie the group's
// number cannot be given to anybody else.
func (c *child) wait() (syscall.WaitStatus, error) {
	defer c.pidfd.Close()
	if err := c.zombie(); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = unix.Kill(-c.pid, unix.SIGKILL)
	c.reaped = true
	var status syscall.WaitStatus
	err := eintr(func() error {
		_, err := syscall.Wait4(c.pid, &status, 0, nil)
		return err
	})
	return status, err
}

// zombie waits in the poller until the child is dead, and leaves it unreaped.
func (c *child) zombie() error {
	var err error
	wait := c.raw.Read(func(fd uintptr) bool {
		var info unix.Siginfo
		err = eintr(func() error {
			return unix.Waitid(unix.P_PIDFD, int(fd), &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		})
		return err != nil || info.Signo != 0
	})
	return errors.Join(wait, err)
}
