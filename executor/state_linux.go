package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/keeper"
)

// state is the private directory that holds scratch directories and the proof
// file. No policy may make it writable for a command.
type state struct {
	dir string
}

const (
	proofName     = "proof"
	scratchPrefix = "scratch-"
)

// openState makes the state directory where it is missing. A configured one is
// the only candidate; of the default ones the first that can be written.
func openState(configured string, env []string) (state, error) {
	if configured != "" {
		return tryState(configured)
	}
	name := "sandbox-exec-" + strconv.Itoa(os.Geteuid())
	var errs []error
	for _, parent := range []string{"/var/tmp", lookup(env, "TMPDIR"), "/tmp"} {
		if !filepath.IsAbs(parent) {
			continue
		}
		s, err := tryState(filepath.Join(parent, name))
		if err == nil || !cannotWrite(err) {
			return s, err
		}
		errs = append(errs, err)
	}
	return state{}, errors.Join(errs...)
}

// cannotWrite is true for a place that is not ours to write, such as the outer
// state directory in a nested run. Everything else is reported.
func cannotWrite(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EROFS)
}

// tryState checks that the directory is ours alone, and that we can write in
// it: without that a refused write would prove nothing.
func tryState(dir string) (state, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return state{}, err
	}
	if err := os.Mkdir(abs, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return state{}, fmt.Errorf("make the state directory: %w", err)
	}
	info, err := os.Lstat(abs)
	if err != nil {
		return state{}, fmt.Errorf("look at the state directory: %w", err)
	}
	if err := private(abs, info); err != nil {
		return state{}, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return state{}, fmt.Errorf("look at the state directory: %w", err)
	}
	s := state{dir: real}
	return s, s.layProof()
}

// private refuses a directory that somebody else could have prepared.
func private(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("state directory %s: expected a directory, got %s", path, info.Mode().Type())
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("state directory %s: it belongs to another user", path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("state directory %s: others can use it (mode %04o), wanted 0700", path, info.Mode().Perm())
	}
	return nil
}

// layProof makes the file that a confined helper must fail to open, and opens
// it the same way: the refusal counts because this succeeds.
func (s state) layProof() error {
	f, err := os.OpenFile(s.proof(), os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("make the proof file: %w", err)
	}
	return f.Close()
}

func (s state) proof() string { return filepath.Join(s.dir, proofName) }

// makeScratch makes a scratch directory of this process.
func (s state) makeScratch() (string, error) {
	name, err := keeper.NewName()
	if err != nil {
		return "", fmt.Errorf("name a scratch directory: %w", err)
	}
	dir := filepath.Join(s.dir, scratchPrefix+name.String())
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a scratch directory: %w", err)
	}
	return dir, nil
}
