package executor

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// removePatience is how long the removal of one scratch directory may take. A
// process that got away can fill it as fast as it is emptied; what is left
// then is swept when this process has ended.
const removePatience = 10 * time.Second

// removeScratch removes a scratch directory and all in it. Everything goes
// through its descriptor, so no symlink that a command left leads out.
func (s state) removeScratch(dir string) error {
	err := s.remove(dir)
	if err != nil {
		return fmt.Errorf("remove the scratch directory: %w", err)
	}
	return nil
}

func (s state) remove(dir string) error {
	state, err := os.OpenRoot(s.dir)
	if err != nil {
		return err
	}
	defer state.Close()
	name := filepath.Base(dir)
	// The command may have taken its own rights away.
	if err := state.Chmod(name, 0o700); err != nil {
		return err
	}
	scratch, err := state.OpenRoot(name)
	if err != nil {
		return err
	}
	defer scratch.Close()
	if err := empty(scratch, time.Now().Add(removePatience)); err != nil {
		return err
	}
	return state.Remove(name)
}

// empty removes all in a directory, however deep: a directory's own
// directories are moved up to the top and wait for their turn, so that no path
// has more than two parts and no more than two descriptors are open. A command
// could else make a tree that costs the caller its descriptors.
func empty(top *os.Root, end time.Time) error {
	f := flattener{top: top, prefix: ".removed-" + rand.Text() + "-"}
	for time.Now().Before(end) {
		entries, err := list(top, ".")
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			if err := f.remove(entry); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return errors.New("it took too long")
}

type flattener struct {
	top *os.Root
	// prefix is of the names that directories get at the top. It is random: a
	// name that the command had taken could not be given.
	prefix string
	moved  int
}

// remove removes one entry of the top.
func (f *flattener) remove(entry fs.DirEntry) error {
	name := entry.Name()
	if !entry.IsDir() {
		return f.top.Remove(name)
	}
	// A directory without write permission, such as a Go module cache's, can
	// neither be emptied nor moved.
	if err := f.top.Chmod(name, 0o700); err != nil {
		return err
	}
	below, err := list(f.top, name)
	if err != nil {
		return err
	}
	for _, child := range below {
		if err := f.take(filepath.Join(name, child.Name()), child); err != nil {
			return err
		}
	}
	return f.top.Remove(name)
}

// take removes a file of the second level, or moves a directory up.
func (f *flattener) take(path string, child fs.DirEntry) error {
	if !child.IsDir() {
		return f.top.Remove(path)
	}
	if err := f.top.Chmod(path, 0o700); err != nil {
		return err
	}
	f.moved++
	return f.top.Rename(path, f.prefix+strconv.Itoa(f.moved))
}

func list(top *os.Root, name string) ([]fs.DirEntry, error) {
	dir, err := top.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.ReadDir(-1)
}
