// Package reportfile opens the files that a report about a command is written
// to, in such a way that the command cannot turn the writing elsewhere.
//
// It writes nothing.
package reportfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/nofollow"
)

// Open opens a file that a report will be written to. It is opened
// before a command starts and written through that descriptor: a symlink that
// the command, or one before it, puts in its place is not followed, and none
// on the way to it. It must be a regular file; a missing one is made.
func Open(path string) (*os.File, error) {
	fail := func(err error) error { return fmt.Errorf("open the report file %s: %w", path, err) }
	file, err := nofollow.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_NONBLOCK, 0o666)
	if errors.Is(err, unix.ELOOP) {
		return nil, fail(fmt.Errorf("its path leads through a symlink, and none is followed (- and fd:N need no path): %w", err))
	}
	if err != nil {
		return nil, fail(err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("expected a regular file, got %s (- and fd:N take anything)", info.Mode().Type())
	}
	if err != nil {
		file.Close()
		return nil, fail(err)
	}
	return file, nil
}

// Inherited is a descriptor that this process was started with and that can be
// written. One that
// closes at exec cannot be: it is this process's own.
func Inherited(fd int) (*os.File, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil {
		return nil, fmt.Errorf("look at descriptor %d: %w", fd, err)
	}
	if flags&unix.FD_CLOEXEC != 0 {
		return nil, fmt.Errorf("descriptor %d: %w", fd, unix.EBADF)
	}
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return nil, fmt.Errorf("look at descriptor %d: %w", fd, err)
	}
	if mode&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, fmt.Errorf("descriptor %d cannot be written: %w", fd, unix.EBADF)
	}
	return os.NewFile(uintptr(fd), fmt.Sprintf("fd:%d", fd)), nil
}
