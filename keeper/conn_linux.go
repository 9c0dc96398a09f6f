package keeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
)

// conn is one end of a SEQPACKET socket, waited for by the runtime's poller
// and not by a thread.
type conn struct {
	file *os.File
	raw  syscall.RawConn
}

const (
	// maxMessage is more than any message of the protocol needs, in bytes.
	maxMessage = 8192
)

// errCut says that descriptors of a message were lost, as happens where this
// process may open no more. The message itself is whole.
var errCut = errors.New("descriptors of a message were lost")

// pair returns our end of a new socket and the descriptor of the other.
func pair() (ours *conn, theirs int, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("make a socket pair: %w", err)
	}
	ours, err = newConn(fds[0])
	if err != nil {
		unix.Close(fds[1])
		return nil, -1, err
	}
	return ours, fds[1], nil
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
	if len(body) > maxMessage || len(files) > confine.MaxFiles {
		return fmt.Errorf("send a message of %d bytes and %d descriptors: at most %d and %d: %w", len(body), len(files), maxMessage, confine.MaxFiles, unix.EMSGSIZE)
	}
	rights := rightsOf(files)
	defer runtime.KeepAlive(files)
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

// rightsOf is the control message that carries the files. Asking a file for
// its descriptor makes that blocking, which is what a command expects.
func rightsOf(files []*os.File) []byte {
	if len(files) == 0 {
		return nil
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return unix.UnixRights(fds...)
}

// receive reads one message and the descriptors that came with it. The error
// is io.EOF where the other end is closed, and errCut where the message was
// read and its descriptors were not.
func (c *conn) receive(message any) ([]*os.File, error) {
	body, files, err := c.receiveBytes()
	if err != nil && !errors.Is(err, errCut) {
		return nil, err
	}
	if bad := json.Unmarshal(body, message); bad != nil {
		closeAll(files)
		return nil, fmt.Errorf("read a message: %w", bad)
	}
	return files, err
}

func (c *conn) receiveBytes() ([]byte, []*os.File, error) {
	body, control := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4*confine.MaxFiles))
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
	if n == 0 {
		return nil, nil, io.EOF
	}
	files, err := filesOf(control[:oobn])
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = errCut
	}
	if err != nil {
		closeAll(files)
		files = nil
	}
	return body[:n], files, err
}

func filesOf(control []byte) ([]*os.File, error) {
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
