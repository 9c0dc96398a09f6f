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

// ParseTemp returns the value of that name, or an *InputError.
func ParseTemp(name string) (Temp, error) {
	return parseOption("temp", name, TempPrivate, TempHost)
}

// ParseTerminals returns the value of that name, or an *InputError.
func ParseTerminals(name string) (Terminals, error) {
	return parseOption("terminals", name, TerminalsNone, TerminalsHost)
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
