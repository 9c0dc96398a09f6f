package broker

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// alarm lets the runtime's poller wait for the listener, and not otherwise. A
// listener that the poller knows wakes the poller's thread for every call, also
// where a worker has it already: that thread then gets in the way of both.
type alarm struct {
	file *os.File // an epoll instance with the listener in it
	raw  syscall.RawConn
}

func newAlarm(listener int) (*alarm, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make an epoll instance: %w", err)
	}
	err = unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, listener, &unix.EpollEvent{})
	if err == nil {
		err = unix.SetNonblock(fd, true) // for the poller to take it
	}
	a := &alarm{file: os.NewFile(uintptr(fd), "epoll")}
	if err == nil {
		a.raw, err = a.file.SyscallConn()
	}
	if err != nil {
		a.file.Close()
		return nil, fmt.Errorf("wait for the listener: %w", err)
	}
	return a, nil
}

// arm says what is told: EPOLLIN, notifications, or 0. The end of a run is told in
// any case.
func arm(alarm, listener int, events uint32) error {
	return unix.EpollCtl(alarm, unix.EPOLL_CTL_MOD, listener, &unix.EpollEvent{Events: events})
}

// wait asks look until that is done, each time something was told.
func (a *alarm) wait(look func(alarm int) (done bool, err error)) error {
	var bad error
	closed := a.raw.Read(func(fd uintptr) bool {
		var done bool
		done, bad = look(int(fd))
		return done || bad != nil
	})
	return errors.Join(closed, bad)
}
