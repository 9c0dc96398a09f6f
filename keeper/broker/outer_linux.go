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
	// plus the number of its roots, its run's scratch directory not among them.
	greetingMode = 0x5342500d
	greeted      = 0x53425000 << 32
	// rootFlags are flags that fchmodat2 does not have: EINVAL, and of a broker
	// the number of the root that the descriptor is, from 1 on.
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
	for i, root := range b.roots.list[:b.shared] {
		if p.is(root.stat) {
			return answer{value: int64(i + 1)}
		}
	}
	return refuse(unix.EINVAL)
}

// Around is what judges this process's own calls. The zero value is nothing.
type Around struct {
	// Broker says that there is a broker around it, and Roots how many roots that
	// has, its run's scratch directory not counted.
	Broker bool
	Roots  int
	// Refused says that a filter refuses the calls, whatever they are about.
	Refused bool
}

// LookAround asks.
func LookAround() Around {
	value, _, errno := unix.Syscall(unix.SYS_FCHMOD, ^uintptr(0), greetingMode, 0)
	if errno == 0 && int64(value) >= greeted {
		return Around{Broker: true, Roots: int(int64(value) - greeted)}
	}
	return Around{Refused: errno == unix.EACCES}
}

// Root is which root of the broker around this process the file is, from 1 on;
// zero for none. It may be asked only where there is a broker.
func (a Around) Root(file *os.File) int {
	value, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, file.Fd(), 0, 0, rootFlags, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(value)
}
