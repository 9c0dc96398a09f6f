package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is how many symlinks one path may lead through, as in the kernel
// (MAXSYMLINKS).
const maxLinks = 40

// Resolve returns path absolute and free of symlinks. It must exist.
func Resolve(path string) (string, error) {
	real, _, err := Follow(path)
	return real, err
}

// Follow is Resolve, and also returns where each symlink lies that path leads
// through. Two dots mean the parent of what was reached, as in the kernel.
func Follow(path string) (real string, links []string, err error) {
	rest, err := parts(path)
	if err != nil {
		return "", nil, err
	}
	for real = "/"; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, name)
		target, err := readLink(next)
		switch {
		case err != nil:
			return "", links, err
		case target == "":
			real = next
			continue
		case len(links) == maxLinks:
			return "", links, &fs.PathError{Op: "follow", Path: path, Err: syscall.ELOOP}
		case filepath.IsAbs(target):
			real = "/"
		}
		links = append(links, next)
		rest = append(split(target), rest...)
	}
	return real, links, nil
}

// parts are the names of a path from the root. It is not cleaned: behind a
// symlink two dots lead elsewhere than the text says.
func parts(path string) ([]string, error) {
	if path == "" {
		return nil, fs.ErrNotExist
	}
	if filepath.IsAbs(path) {
		return split(path), nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return append(split(dir), split(path)...), nil
}

func split(path string) []string {
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// readLink is the target of a symlink, or "" for anything else that exists.
func readLink(path string) (string, error) {
	target, err := os.Readlink(path)
	if errors.Is(err, syscall.EINVAL) {
		return "", nil
	}
	return target, err
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
