package executor

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// removePatience is how long the removal of one run's directory may take. A
// process that got away can fill it as fast as it is emptied; what is left
// then is swept when this process has ended.
const removePatience = 10 * time.Second

// removeRun removes a run's directory and all in it. Everything goes through
// its descriptor, so no symlink that a command left leads out.
func (s state) removeRun(r runDir) error {
	if err := s.remove(filepath.Base(r.dir), time.Now().Add(removePatience)); err != nil {
		return fmt.Errorf("remove the directory of the run: %w", err)
	}
	return nil
}

func (s state) remove(name string, end time.Time) error {
	state, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer state.Close()
	if err := writable(state, name); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	run, err := state.OpenRoot(name)
	if err != nil {
		return err
	}
	defer run.Close()
	f := flattener{top: run, end: end, prefix: ".removed-" + rand.Text() + "-"}
	if err := f.empty(); err != nil {
		return err
	}
	return state.Remove(name)
}

// flattener removes all in a directory, however deep and however much: a
// directory's own directories are moved up to the top and wait for their turn,
// so that no path has more than two parts, no more than two descriptors are
// open, and no more than a batch of names is held. A command could else make a
// tree that costs the caller its descriptors or its memory.
type flattener struct {
	top *os.Root
	end time.Time
	// prefix is of the names that directories get at the top. It is random: a
	// name that the command had taken could not be given.
	prefix string
	moved  int
}

// batch is how many names are read at once.
const batch = 1024

var errPatienceOver = errors.New("it took too long")

// empty goes on after what cannot be removed, as long as anything else can.
func (f *flattener) empty() error {
	for {
		entries, err := f.list(".")
		if err != nil || len(entries) == 0 {
			return err
		}
		removed, err := f.pass(entries)
		if removed == 0 {
			return err
		}
	}
}

// pass removes what it can of the entries, and returns how many steps that
// were and the last error.
func (f *flattener) pass(entries []fs.DirEntry) (removed int, last error) {
	for _, entry := range entries {
		if time.Now().After(f.end) {
			return 0, errPatienceOver
		}
		steps, err := f.remove(entry)
		removed += steps
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			last = err
		}
	}
	return removed, last
}

// remove removes one entry of the top, or a batch of what is in it.
func (f *flattener) remove(entry fs.DirEntry) (steps int, err error) {
	name := entry.Name()
	if !entry.IsDir() {
		return f.step(f.top.Remove(name))
	}
	if err := writable(f.top, name); err != nil {
		return 0, err
	}
	below, err := f.list(name)
	if err != nil {
		return 0, err
	}
	for _, child := range below {
		n, failed := f.step(f.take(filepath.Join(name, child.Name()), child))
		steps += n
		if failed != nil {
			err = failed
		}
	}
	if len(below) == batch || err != nil {
		return steps, err // there may be more
	}
	n, err := f.step(f.top.Remove(name))
	return steps + n, err
}

// take removes a file of the second level, or moves a directory up.
func (f *flattener) take(path string, child fs.DirEntry) error {
	if !child.IsDir() {
		return f.top.Remove(path)
	}
	if err := writable(f.top, path); err != nil {
		return err
	}
	f.moved++
	return f.top.Rename(path, f.prefix+strconv.Itoa(f.moved))
}

// writable gives a directory its owner's rights back. One without write
// permission, such as a Go module cache's, can neither be emptied nor moved.
// What has them is left alone: an outer sandbox may forbid any change of modes.
func writable(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil || info.Mode().Perm()&0o700 == 0o700 {
		return err
	}
	return root.Chmod(name, 0o700)
}

func (f *flattener) step(err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return 1, nil
}

func (f *flattener) list(name string) ([]fs.DirEntry, error) {
	dir, err := f.top.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(batch)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return entries, err
}
