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

// state is the private directory that holds one directory for each run. No
// policy may make it writable for a command.
type state struct {
	dir string
}

// openState opens the state directory and makes it where it is missing. A
// configured one is the only candidate, and is taken as it is or refused; of
// the default ones the first that can be written is ours to put right.
func openState(configured string, env []string) (state, error) {
	if configured != "" {
		return tryState(configured, check)
	}
	name := "sandbox-exec-" + strconv.Itoa(os.Geteuid())
	var errs []error
	for _, parent := range []string{"/var/tmp", lookup(env, "TMPDIR"), "/tmp"} {
		if !filepath.IsAbs(parent) {
			continue
		}
		s, err := tryState(filepath.Join(parent, name), repair)
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

// tryState makes the directory, has its owner and mode looked at, and writes
// in it: where we cannot, a command's refused write would prove nothing.
func tryState(dir string, private func(*os.File) error) (state, error) {
	fail := func(err error) (state, error) { return state{}, fmt.Errorf("state directory %s: %w", dir, err) }
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fail(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fail(err)
	}
	file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, syscall.ENOTDIR) {
		return fail(fmt.Errorf("expected a directory and no symlink: %w", err))
	}
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	if err := private(file); err != nil {
		return fail(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return fail(err)
	}
	if err := tryWrite(real); err != nil {
		return fail(err)
	}
	return state{dir: real}, nil
}

// check refuses a directory that others can use.
func check(dir *os.File) error {
	mode, err := ownMode(dir)
	if err == nil && mode != 0o700 {
		err = fmt.Errorf("others can use it, or not even its owner (mode %04o), wanted 0700", mode)
	}
	return err
}

// repair puts the mode right. A command may have changed it, because Landlock
// does not govern modes, and must not keep the next run from starting. Only a
// directory of our own name is touched.
func repair(dir *os.File) error {
	mode, err := ownMode(dir)
	if err == nil && mode != 0o700 {
		err = dir.Chmod(0o700)
	}
	return err
}

// ownMode is the mode of a directory of ours; another user's is refused.
func ownMode(dir *os.File) (fs.FileMode, error) {
	info, err := dir.Stat()
	if err != nil {
		return 0, err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return 0, fmt.Errorf("it belongs to another user: %w", fs.ErrPermission)
	}
	return info.Mode().Perm(), nil
}

// ours reports whether this user, and so perhaps an earlier command, made it.
func ours(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

// tryWrite does not ask access(2), which lies where Landlock rules.
func tryWrite(dir string) error {
	f, err := os.CreateTemp(dir, ".write-")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// runDir is the directory of one run: the scratch directory that its command
// may write, and beside it the proof file that it may not.
type runDir struct {
	dir string
}

const runPrefix = "run-"

func (r runDir) scratch() string { return filepath.Join(r.dir, "tmp") }
func (r runDir) proof() string   { return filepath.Join(r.dir, "proof") }

// makeRun makes the directory of a run. The proof is a new file each time: on
// an old one a process that was left behind could hold a lease, which makes
// whoever opens it wait. It has been opened for writing here, so the helper's
// refusal counts.
func (s state) makeRun() (runDir, error) {
	name, err := keeper.NewName()
	if err != nil {
		return runDir{}, fmt.Errorf("name a run: %w", err)
	}
	r := runDir{dir: filepath.Join(s.dir, runPrefix+name.String())}
	if err := r.make(); err != nil {
		return runDir{}, fmt.Errorf("make the directory of a run: %w", errors.Join(err, s.removeRun(r)))
	}
	return r, nil
}

func (r runDir) make() error {
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return err
	}
	proof, err := os.OpenFile(r.proof(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(proof.Close(), os.Mkdir(r.scratch(), 0o700))
}
