package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
// through. Two dots mean the parent of what was reached and not of what is
// written.
func Follow(path string) (real string, links []string, err error) {
	w, err := walk(path)
	return w.real, w.links, err
}

// walked is how far a path led.
type walked struct {
	real  string   // what was reached, free of symlinks
	rest  []string // the names that were not, the missing one first
	links []string // where the symlinks on the way lie
}

func walk(path string) (walked, error) {
	rest, err := parts(path)
	w := walked{real: "/", rest: rest}
	for err == nil && len(w.rest) > 0 {
		err = w.step()
	}
	return w, err
}

// step goes on by one name.
func (w *walked) step() error {
	name := w.rest[0]
	if name == ".." {
		w.real, w.rest = filepath.Dir(w.real), w.rest[1:]
		return nil
	}
	next := filepath.Join(w.real, name)
	target, err := readLink(next)
	switch {
	case err != nil:
		return err
	case target == "":
		w.real, w.rest = next, w.rest[1:]
		return nil
	case len(w.links) == maxLinks:
		return &fs.PathError{Op: "follow", Path: next, Err: syscall.ELOOP}
	case filepath.IsAbs(target):
		w.real = "/"
	}
	w.links = append(w.links, next)
	w.rest = append(split(target), w.rest[1:]...)
	return nil
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
// exists is resolved. What is missing cannot be left again by two dots.
func ResolveMissing(path string) (string, error) {
	w, err := walk(path)
	if path == "" || !errors.Is(err, fs.ErrNotExist) {
		return w.real, err
	}
	if slices.Contains(w.rest, "..") {
		return "", err
	}
	return filepath.Join(append([]string{w.real}, w.rest...)...), nil
}
