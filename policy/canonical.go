package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Canonical validates p and returns it with every path absolute, free of
// symlinks, and looked at: the workspace is a directory that can be read, each
// root exists or was optional, each device is a device. The caller's
// p is not changed. Relative paths are taken from the process's directory.
func (p Policy) Canonical() (Policy, error) {
	if err := p.Validate(); err != nil {
		return Policy{}, err
	}
	c := Policy{Mode: p.Mode, Temp: p.temp(), Terminals: p.terminals()}
	var err error
	if c.Workspace, err = canonicalWorkspace(p.Mode, p.Workspace); err != nil {
		return Policy{}, err
	}
	if c.Writable, err = canonicalRoots(p.Writable); err != nil {
		return Policy{}, err
	}
	if c.Devices, err = canonicalDevices(p.Devices); err != nil {
		return Policy{}, err
	}
	if c.Unreadable, err = canonicalUnreadable(p.Unreadable, c.Roots()); err != nil {
		return Policy{}, err
	}
	return c, nil
}

func canonicalWorkspace(mode Mode, path string) (string, error) {
	const what = "workspace"
	real, err := Resolve(path)
	if err != nil {
		return "", failed(what, path, err)
	}
	if why := hollow(real); why != "" && mode.Confines() {
		return "", &InputError{What: what, Value: path, Want: why}
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", failed(what, path, err)
	}
	if !info.IsDir() {
		return "", &InputError{What: what, Value: path, Want: "expected a directory"}
	}
	dir, err := os.Open(real)
	if err != nil {
		return "", failed(what, path, err)
	}
	return real, dir.Close()
}

func canonicalRoots(roots []Root) ([]Root, error) {
	var out []Root
	for _, root := range roots {
		real, err := Resolve(root.Path)
		if root.Optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, failed("writable root", root.Path, err)
		}
		if why := hollow(real); why != "" {
			return nil, &InputError{What: "writable root", Value: root.Path, Want: why}
		}
		out = append(out, Root{Path: real, Optional: root.Optional})
	}
	return out, nil
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
func canonicalUnreadable(paths, roots []string) ([]string, error) {
	var out []string
	for _, path := range paths {
		real, err := ResolveMissing(path)
		if err != nil {
			return nil, failed("unreadable path", path, err)
		}
		if real == "/" {
			return nil, &InputError{What: "unreadable path", Value: path, Want: "without / no program can start"}
		}
		for _, root := range roots {
			if Within(root, real) {
				return nil, &InputError{What: "unreadable path", Value: path, Want: "it lies in the writable root " + root + ", and Landlock cannot take back what a root grants"}
			}
		}
		out = append(out, real)
	}
	return out, nil
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

// Resolve returns path absolute and free of symlinks. It must exist.
func Resolve(path string) (string, error) {
	if path == "" {
		return "", fs.ErrNotExist
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// ResolveMissing is Resolve for a path whose end may not exist: as much of it as
// exists is resolved.
func ResolveMissing(path string) (string, error) {
	real, err := Resolve(path)
	if path == "" || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	if _, err := os.Lstat(abs); err == nil {
		return "", errors.New("it is a symlink that leads nowhere")
	}
	parent, err := ResolveMissing(filepath.Dir(abs))
	return filepath.Join(parent, filepath.Base(abs)), err
}

// failed is the InputError for an error of the file system. Its text is the
// errno's own, because operation and path stand in the InputError already.
func failed(what, value string, err error) error {
	text := err.Error()
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		text = path.Err.Error()
	case errors.Is(err, fs.ErrNotExist):
		text = "no such file or directory"
	}
	return &InputError{What: what, Value: value, Want: text, Err: err}
}
