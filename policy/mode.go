package policy

import (
	"fmt"
	"slices"
)

// Mode says how much a command may change. Modes are ordered: a larger value
// is a wider mode. The zero value is ReadOnly, the narrowest.
type Mode uint8

// The modes, narrowest first.
const (
	// ReadOnly lets a command change nothing outside its scratch directory.
	ReadOnly Mode = iota
	// WorkspaceWrite also lets it change what lies under the workspace and the
	// extra writable roots.
	WorkspaceWrite
	// DangerFullAccess confines nothing.
	DangerFullAccess
)

var modeNames = []string{"read-only", "workspace-write", "danger-full-access"}

// ParseMode returns the mode of that name, or an *InputError.
func ParseMode(name string) (Mode, error) {
	i := slices.Index(modeNames, name)
	if i < 0 {
		return 0, oneOf("mode", name, modeNames)
	}
	return Mode(i), nil
}

// String returns the name that ParseMode takes.
func (m Mode) String() string {
	if int(m) >= len(modeNames) {
		return fmt.Sprintf("mode(%d)", uint8(m))
	}
	return modeNames[m]
}

// Confines reports whether the mode restricts a command at all. A value that
// is no mode confines: it can never be mistaken for full access.
func (m Mode) Confines() bool { return m != DangerFullAccess }

// MarshalText returns the name of a known mode.
func (m Mode) MarshalText() ([]byte, error) {
	if int(m) >= len(modeNames) {
		return nil, oneOf("mode", m.String(), modeNames)
	}
	return []byte(modeNames[m]), nil
}

// UnmarshalText is ParseMode.
func (m *Mode) UnmarshalText(text []byte) error {
	parsed, err := ParseMode(string(text))
	if err == nil {
		*m = parsed
	}
	return err
}
