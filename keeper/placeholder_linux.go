package keeper

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// placeholder is a process that is in a scope for no other reason than that the
// scope needs one: without a member it ends, and with it what a run's group has
// counted. When the keeper ends, be it by SIGKILL, the placeholder kills whatever
// is left in the scope, itself as well.
type placeholder struct {
	pid    int
	tell   *os.File // its standard input
	reaped bool     // its number may be another's
}

// A shell does it with what is built in. It learns the scope's directory by its
// first line; then it waits for end of file. SIGTERM is the keeper's death, or
// systemd that ends the scope: no reason to leave the rest alive.
const (
	placeholderShell   = "/bin/sh"
	placeholderProgram = `trap : TERM; if read -r group; then read -r end; echo 1 >"$group/cgroup.kill"; fi`
)

// startPlaceholder must be called on the thread of births, whose death it is told
// of. A session of its own keeps a terminal's signals away.
func startPlaceholder() (*placeholder, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer read.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		write.Close()
		return nil, err
	}
	defer null.Close()
	pid, _, err := syscall.StartProcess(placeholderShell, []string{"sh", "-c", placeholderProgram}, &syscall.ProcAttr{
		Dir:   "/",
		Files: []uintptr{read.Fd(), null.Fd(), null.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM},
	})
	if err != nil {
		write.Close()
		return nil, fmt.Errorf("start %s: %w", placeholderShell, err)
	}
	return &placeholder{pid: pid, tell: write}, nil
}

// guard tells it what to kill in the end.
func (p *placeholder) guard(dir string) error {
	_, err := p.tell.WriteString(dir + "\n")
	return err
}

// gone reports whether it has ended, and reaps it then.
func (p *placeholder) gone() bool {
	if p.reaped {
		return true
	}
	var pid int
	err := eintr(func() (err error) {
		pid, err = unix.Wait4(p.pid, nil, unix.WNOHANG, nil)
		return err
	})
	p.reaped = pid == p.pid || errors.Is(err, unix.ECHILD)
	return p.reaped
}

// placeholderPatience is how long it has for what it does in the end.
const placeholderPatience = time.Second

// end has it kill what is in the scope, and reaps it.
func (p *placeholder) end() {
	p.tell.Close()
	for end := time.Now().Add(placeholderPatience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if p.gone() {
			return
		}
	}
	p.kill()
}

// kill ends it at once: in a scope where nothing else is.
func (p *placeholder) kill() {
	p.tell.Close()
	if !p.gone() {
		_ = unix.Kill(p.pid, unix.SIGKILL)
		_ = eintr(func() error { _, err := unix.Wait4(p.pid, nil, 0, nil); return err })
		p.reaped = true
	}
}
