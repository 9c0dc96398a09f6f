package policy

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Canonical validates p and returns it with every path absolute, free of
// symlinks, and looked at: the workspace is a directory that can be read, each
// root exists or was optional, each device is a device. The caller's
// p is not changed. Relative paths are taken from the process's directory.
func (p Policy) Canonical() (Policy, error) {
	if err := p.Validate(); err != nil {
		return Policy{}, err
	}
	p = p.spelled()
	c := Policy{
		Mode: p.Mode, Network: p.Network, IPC: p.IPC, Temp: p.Temp, Terminals: p.Terminals,
		Closed: p.Closed, AllowUnenforced: p.AllowUnenforced, Limits: p.Limits,
	}
	var err error
	var trails []trail
	if c.Workspace, trails, err = canonicalWorkspace(p.Mode, p.Workspace); err != nil {
		return Policy{}, err
	}
	if c.Writable, trails, err = canonicalRoots(p.Writable, trails); err != nil {
		return Policy{}, err
	}
	if c.Devices, err = canonicalDevices(p.Devices); err != nil {
		return Policy{}, err
	}
	if c.Unreadable, err = canonicalUnreadable(p.Unreadable, c); err != nil {
		return Policy{}, err
	}
	return c, c.checkRoots(trails)
}

// trail is how a root was reached. It is of the very walk that found the root:
// a second walk may be led elsewhere.
type trail struct {
	asked string
	links []string
}

// checkRoots looks at the roots together.
func (p Policy) checkRoots(trails []trail) error {
	roots := p.Roots()
	if len(roots) == 0 {
		return nil
	}
	mounts, err := Mounts()
	if err != nil {
		return err
	}
	for _, root := range roots {
		if why := grants(root, mounts); why != "" {
			return &InputError{What: "writable root", Value: root, Want: why}
		}
	}
	for _, t := range trails {
		if err := t.check(roots); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a root that is reached through a symlink inside a root: an
// earlier command may have put it there, to be granted what it leads to.
func (t trail) check(roots []string) error {
	for _, link := range t.links {
		for _, root := range roots {
			if Within(root, link) {
				return &InputError{What: "writable root", Value: t.asked, Want: "it leads through the symlink " + link + ", which lies in the writable root " + root + "; name what it leads to"}
			}
		}
	}
	return nil
}

func canonicalWorkspace(mode Mode, path string) (string, []trail, error) {
	real, links, err := Follow(path)
	if err == nil {
		err = lookAtWorkspace(mode, path, real)
	} else {
		err = failed("workspace", path, err)
	}
	return real, []trail{{path, links}}, err
}

func lookAtWorkspace(mode Mode, path, real string) error {
	const what = "workspace"
	if why := hollow(real); why != "" && mode.Confines() {
		if path == "." {
			path = real // nobody typed the dot
		}
		return &InputError{What: what, Value: path, Want: why + "; name another directory as the workspace"}
	}
	info, err := os.Stat(real)
	if err != nil {
		return failed(what, path, err)
	}
	if !info.IsDir() {
		return &InputError{What: what, Value: path, Want: "expected a directory"}
	}
	dir, err := os.Open(real)
	if err != nil {
		return failed(what, path, err)
	}
	return dir.Close()
}

func canonicalRoots(roots []Root, trails []trail) ([]Root, []trail, error) {
	var out []Root
	for _, root := range roots {
		real, links, err := Follow(root.Path)
		if root.Optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, failed("writable root", root.Path, err)
		}
		if why := hollow(real); why != "" {
			return nil, nil, &InputError{What: "writable root", Value: root.Path, Want: why}
		}
		out = append(out, Root{Path: real, Optional: root.Optional})
		trails = append(trails, trail{root.Path, links})
	}
	return out, trails, nil
}

func canonicalDevices(devices []string) ([]string, error) {
	var out []string
	for _, path := range devices {
		real, err := Resolve(path)
		if err != nil {
			return nil, failed("device", path, err)
		}
		info, err := os.Stat(real)
		if err != nil {
			return nil, failed("device", path, err)
		}
		if info.Mode()&fs.ModeDevice == 0 || !Within("/dev", real) {
			return nil, &InputError{What: "device", Value: path, Want: "expected a device file below /dev"}
		}
		out = append(out, real)
	}
	return out, nil
}

// canonicalUnreadable takes paths that do not exist yet: the levels above them
// are granted entry by entry, so what appears there later cannot be read.
//
// What is granted elsewhere cannot be unreadable: Landlock cannot take back
// what lies in a writable root, and a device or terminal that was asked for is
// a contradiction.
func canonicalUnreadable(paths []string, granted Policy) ([]string, error) {
	var out []string
	for _, path := range paths {
		if strings.HasPrefix(path, "~") {
			return nil, &InputError{What: "unreadable path", Value: path, Want: "the shell has not replaced ~ by a home directory; write it out, or ./~ where it is meant"}
		}
		real, err := ResolveMissing(path)
		if err != nil {
			return nil, failed("unreadable path", path, err)
		}
		if real == "/" {
			return nil, &InputError{What: "unreadable path", Value: path, Want: "without / no program can start"}
		}
		if why := granted.contradiction(real); why != "" {
			return nil, &InputError{What: "unreadable path", Value: path, Want: why}
		}
		out = append(out, real)
	}
	return out, nil
}

// contradiction says what else grants a path that is to be unreadable, or "".
func (p Policy) contradiction(hidden string) string {
	for _, root := range p.Roots() {
		if Within(root, hidden) {
			return "it lies in the writable root " + root + ", and Landlock cannot take back what a root grants"
		}
	}
	for _, device := range p.Devices {
		if Within(hidden, device) {
			return "the device " + device + " is asked for"
		}
	}
	if p.Terminals == TerminalsHost && (Within(hidden, "/dev/pts") || Within("/dev/pts", hidden)) {
		return "the host's terminals are asked for"
	}
	return ""
}

// hollow says why a root would leave the mode without meaning, or "".
func hollow(root string) string {
	switch {
	case root == "/":
		return "the file system's root cannot be granted"
	case Within("/proc", root), Within("/sys", root):
		return "a kernel interface cannot be granted"
	case Within("/dev", root) && !Within("/dev/shm", root):
		return "devices are granted one by one, with the device option"
	}
	return ""
}
