package broker

import (
	"os"

	"golang.org/x/sys/unix"
)

// How a sandbox inside another one of this kind learns what that one's broker
// holds: by two calls that no kernel takes and that change nothing. A filter in
// between may refuse set-id bits, so their modes have none.
const (
	// greetingMode is a mode for descriptor -1: EBADF, and of a broker greeted
	// plus the number of its roots.
	greetingMode = 0x5342500d
	greeted      = 0x53425000 << 32
	// rootFlags are flags that fchmodat2 does not have: EINVAL, and of a broker 1
	// where the descriptor is one of its roots.
	rootFlags = 0x53425000
)

func greeting(n notification) bool {
	return n.number == unix.SYS_FCHMOD && int32(n.args[0]) == -1 && uint32(n.args[1]) == greetingMode
}

func asksForRoot(n notification) bool {
	return n.number == unix.SYS_FCHMODAT2 && uint32(n.args[3]) == rootFlags
}

func (b *Broker) tellRoot(c *caller, n notification) answer {
	fd, err := c.descriptor(int(int32(n.args[0])))
	if err != nil {
		return refuse(errnoOf(err))
	}
	p, err := newPin(fd)
	if err != nil {
		return refuse(errnoOf(err))
	}
	defer p.close()
	for _, root := range b.roots.list {
		if p.is(root.stat) {
			return answer{value: 1}
		}
	}
	return refuse(unix.EINVAL)
}

// Around is what judges this process's own calls. The zero value is nothing.
type Around struct {
	// Roots is how many roots the broker around it has; zero where there is none.
	Roots int
	// Refused says that a filter refuses the calls, whatever they are about.
	Refused bool
}

// LookAround asks.
func LookAround() Around {
	value, _, errno := unix.Syscall(unix.SYS_FCHMOD, ^uintptr(0), greetingMode, 0)
	if errno == 0 && int64(value) > greeted {
		return Around{Roots: int(int64(value) - greeted)}
	}
	return Around{Refused: errno == unix.EACCES}
}

// Holds reports whether the file is one of the roots of the broker around this
// process. It may be asked only where there is one.
func (a Around) Holds(file *os.File) bool {
	value, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, file.Fd(), 0, 0, rootFlags, 0, 0)
	return errno == 0 && value == 1
}
