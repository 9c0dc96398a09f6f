package policy

import (
	"path/filepath"
	"slices"
	"strings"
)

// Policy is what a command may do. The zero value is read-only with a private
// scratch directory; it only lacks a workspace.
type Policy struct {
	// Mode is the mode; zero is ReadOnly.
	Mode Mode
	// Workspace is the directory the command works in, and in WorkspaceWrite
	// the first writable root. Canonical wants it to exist.
	Workspace string
	// Writable lists further roots, directories or files, that WorkspaceWrite
	// grants. Other modes refuse it.
	Writable []Root
	// Unreadable lists paths whose content the command must not read. Names
	// may still be listed, and another hard link to a file is not found.
	Unreadable []string
	// Network is which sockets can be made; empty is NetworkDeny.
	Network Network
	// IPC is whether objects that all processes of the user share can be
	// reached, /dev/shm among them; empty is IPCNone.
	IPC IPC
	// Temp is which directory for temporary files there is; empty is TempPrivate.
	Temp Temp
	// Terminals is which terminals can be opened; empty is TerminalsNone.
	Terminals Terminals
	// Devices lists further device files below /dev that may be read, written
	// and controlled.
	Devices []string
	// Closed lists promises that are held by a stricter variant even where the
	// exact one could be: what they are about is refused everywhere. See
	// ParseChoice for those that can be listed.
	Closed []Promise
	// AllowUnenforced lists promises that need not hold: nothing is done for them.
	AllowUnenforced []Promise
	// Limits is how much the command may use; zero asks for nothing.
	Limits Limits
}

// Root is a directory or file that may be written.
type Root struct {
	Path string
	// Optional lets the root be missing; it is then left out.
	Optional bool
}

// Validate checks what can be checked without looking at any file: the
// options' values, and that nothing is asked that the mode would ignore.
func (p Policy) Validate() error {
	if _, err := ParseMode(p.Mode.String()); err != nil {
		return err
	}
	p = p.spelled()
	_, network := ParseNetwork(string(p.Network))
	_, ipc := ParseIPC(string(p.IPC))
	_, temp := ParseTemp(string(p.Temp))
	_, terminals := ParseTerminals(string(p.Terminals))
	for _, err := range []error{network, ipc, temp, terminals} {
		if err != nil {
			return err
		}
	}
	if err := p.validateChoices(); err != nil {
		return err
	}
	if err := p.Limits.Validate(); err != nil {
		return err
	}
	return p.validateMode()
}

// validateChoices checks what was chosen for single promises.
func (p Policy) validateChoices() error {
	for _, promise := range slices.Concat(p.Closed, p.AllowUnenforced) {
		if _, err := ParseChoice(string(promise)); err != nil {
			return err
		}
		if slices.Contains(p.Closed, promise) && slices.Contains(p.AllowUnenforced, promise) {
			return &InputError{What: "promise", Value: string(promise), Want: "it cannot be closed and unenforced at once"}
		}
	}
	return nil
}

// spelled is p with the zero values of its options spelled out.
func (p Policy) spelled() Policy {
	p.Network, p.IPC = orZero(p.Network, NetworkDeny), orZero(p.IPC, IPCNone)
	p.Temp, p.Terminals = orZero(p.Temp, TempPrivate), orZero(p.Terminals, TerminalsNone)
	return p
}

// validateMode refuses what the mode cannot honour: an option that is
// silently ignored is a promise that nobody keeps.
func (p Policy) validateMode() error {
	if p.Mode != WorkspaceWrite && len(p.Writable) > 0 {
		return &InputError{What: "writable root", Value: p.Writable[0].Path, Want: "it needs mode workspace-write, not " + p.Mode.String()}
	}
	if p.Mode.Confines() {
		return nil
	}
	const want = "it has no effect in mode danger-full-access, which confines nothing"
	if p.IPC == IPCHost {
		return &InputError{What: "ipc", Value: string(p.IPC), Want: want}
	}
	if p.Temp == TempHost {
		return &InputError{What: "temp", Value: string(p.Temp), Want: want}
	}
	if p.Terminals == TerminalsHost {
		return &InputError{What: "terminals", Value: string(p.Terminals), Want: want}
	}
	if len(p.Unreadable) > 0 {
		return &InputError{What: "unreadable path", Value: p.Unreadable[0], Want: want}
	}
	if len(p.Devices) > 0 {
		return &InputError{What: "device", Value: p.Devices[0], Want: want}
	}
	if chosen := slices.Concat(p.Closed, p.AllowUnenforced); len(chosen) > 0 {
		return &InputError{What: "promise", Value: string(chosen[0]), Want: want}
	}
	return nil
}

// Roots returns the paths under which the policy itself lets a command write,
// without its scratch directory. It is empty for DangerFullAccess, which has
// no roots because it has no bounds.
func (p Policy) Roots() []string {
	var roots []string
	if p.Mode == WorkspaceWrite {
		roots = append(roots, p.Workspace)
		for _, r := range p.Writable {
			roots = append(roots, r.Path)
		}
	}
	if p.Mode.Confines() && p.Temp == TempHost {
		roots = append(roots, "/tmp")
	}
	if p.Mode.Confines() && p.IPC == IPCHost {
		roots = append(roots, "/dev/shm")
	}
	return roots
}

// Within reports whether path is root or lies under it. Both are clean and
// absolute.
func Within(root, path string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
