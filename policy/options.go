package policy

import "slices"

// Temp says which directory for temporary files a command gets. The zero
// value is TempPrivate.
type Temp string

const (
	// TempPrivate gives a scratch directory of its own as TMPDIR; /tmp can be
	// read but not written.
	TempPrivate Temp = "private"
	// TempHost also grants /tmp, with other programs' files and sockets in it.
	TempHost Temp = "host"
)

// Terminals says which terminals a command can open. The zero value is
// TerminalsNone.
type Terminals string

const (
	// TerminalsNone keeps /dev/pts closed: reading another terminal of the same
	// user takes its keystrokes, writing it fakes its prompt.
	TerminalsNone Terminals = "none"
	// TerminalsHost opens /dev/pts, for programs that open a terminal by name.
	TerminalsHost Terminals = "host"
)

// Network says which sockets besides unix ones a command can make. The zero
// value is NetworkDeny.
type Network string

const (
	// NetworkDeny leaves unix sockets, and netlink sockets that tell routes.
	NetworkDeny Network = "deny"
	// NetworkAllow leaves TCP, UDP and ping too.
	NetworkAllow Network = "allow"
)

// IPC says whether a command can use what all processes of a user share: System
// V IPC, POSIX message queues, and POSIX shared memory and semaphores, which are
// files in /dev/shm. The zero value is IPCNone.
type IPC string

const (
	// IPCNone closes them.
	IPCNone IPC = "none"
	// IPCHost opens them, for programs such as initdb, fakeroot and Python's
	// multiprocessing; /dev/shm is then a writable root in every mode.
	IPCHost IPC = "host"
)

// ParseNetwork returns the value of that name, or an *InputError.
func ParseNetwork(name string) (Network, error) {
	return parseOption("network", name, NetworkDeny, NetworkAllow)
}

// ParseIPC returns the value of that name, or an *InputError.
func ParseIPC(name string) (IPC, error) {
	return parseOption("ipc", name, IPCNone, IPCHost)
}

// ParseTemp returns the value of that name, or an *InputError.
func ParseTemp(name string) (Temp, error) {
	return parseOption("temp", name, TempPrivate, TempHost)
}

// ParseTerminals returns the value of that name, or an *InputError.
func ParseTerminals(name string) (Terminals, error) {
	return parseOption("terminals", name, TerminalsNone, TerminalsHost)
}

// orZero is the option with its zero value spelled out.
func orZero[T ~string](option, zero T) T {
	if option == "" {
		return zero
	}
	return option
}

func parseOption[T ~string](what, name string, accepted ...T) (T, error) {
	if slices.Contains(accepted, T(name)) {
		return T(name), nil
	}
	var names []string
	for _, a := range accepted {
		names = append(names, string(a))
	}
	return "", oneOf(what, name, names)
}
