package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// conn is one end of a SEQPACKET socket, waited for by the runtime's poller
// and not by a thread.
type conn struct {
	file *os.File
	raw  syscall.RawConn
}

const (
	// maxMessage is more than any message of the protocol needs.
	maxMessage = 4096
	// maxFiles is the most descriptors one message carries (SCM_MAX_FD).
	maxFiles = 253
)

// pair returns the two ends of a new socket: ours, and one to hand on, which blocks.
func pair() (*conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "socket")
	ours, err := newConn(fds[0])
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// newConn takes the descriptor over.
func newConn(fd int) (*conn, error) {
	file, raw, err := pollable(fd, "socket")
	if err != nil {
		return nil, err
	}
	return &conn{file: file, raw: raw}, nil
}

// pollable hands a descriptor to the poller.
func pollable(fd int, name string) (*os.File, syscall.RawConn, error) {
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, nil, fmt.Errorf("make the %s non-blocking: %w", name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	raw, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, nil, fmt.Errorf("wait on the %s: %w", name, err)
	}
	return file, raw, nil
}

func (c *conn) close() { c.file.Close() }

// finish says that nothing more will be sent.
func (c *conn) finish() error {
	var err error
	ctl := c.raw.Control(func(fd uintptr) { err = unix.Shutdown(int(fd), unix.SHUT_WR) })
	return errors.Join(ctl, err)
}

// send writes one message. The files stay the caller's.
func (c *conn) send(message any, files ...*os.File) error {
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	return c.sendBytes(body, files...)
}

func (c *conn) sendBytes(body []byte, files ...*os.File) error {
	if len(files) > maxFiles {
		return fmt.Errorf("send %d descriptors: the kernel takes %d", len(files), maxFiles)
	}
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	var err error
	wait := c.raw.Write(func(fd uintptr) bool {
		err = eintr(func() error {
			_, err := unix.SendmsgN(int(fd), body, rights, nil, unix.MSG_NOSIGNAL)
			return err
		})
		return !errors.Is(err, unix.EAGAIN)
	})
	return errors.Join(wait, err)
}

// receive reads one message and the descriptors that came with it; io.EOF
// where the other end is closed.
func (c *conn) receive(message any) ([]*os.File, error) {
	body, files, err := c.receiveBytes()
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(body, message); err != nil {
		closeAll(files)
		return nil, fmt.Errorf("read a message: %w", err)
	}
	return files, nil
}

func (c *conn) receiveBytes() ([]byte, []*os.File, error) {
	body, control := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*maxFiles))
	var n, oobn, flags int
	var err error
	wait := c.raw.Read(func(fd uintptr) bool {
		err = eintr(func() (err error) {
			n, oobn, flags, _, err = unix.Recvmsg(int(fd), body, control, unix.MSG_CMSG_CLOEXEC)
			return err
		})
		return !errors.Is(err, unix.EAGAIN)
	})
	if err := errors.Join(wait, err); err != nil {
		return nil, nil, err
	}
	files, err := rights(control[:oobn])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = errors.New("read a message: it was cut")
	}
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		closeAll(files)
		return nil, nil, err
	}
	return body[:n], files, nil
}

func rights(control []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil, fmt.Errorf("read a control message: %w", err)
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue // not descriptors
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// eintr repeats a call that a signal interrupted.
func eintr(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
