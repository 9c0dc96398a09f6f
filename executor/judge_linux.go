package executor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/classify"
	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// judge adds to a result what the sandbox denied.
func judge(r *Result, s Spec, plan *confine.Plan) {
	if !s.Policy.Mode.Confines() {
		return
	}
	files := &files{plan: plan, path: lookup(s.Env, "PATH"), end: time.Now().Add(patience)}
	r.Denials = classify.Denials(classify.Outcome{
		Exit: r.Exit, Dir: s.Dir, Stdout: r.Stdout.Tail, Stderr: r.Stderr.Tail, Exact: r.Denials,
	}, files)
	r.Denied = classify.Denied(r.Exit, r.Denials)
}

// patience is how long all questions of one run may take together: a file
// system that hangs must not hold a result back.
const patience = time.Second

var errPatience = errors.New("the file system did not answer in time")

// files answers classify's questions outside the sandbox, as the user that the
// command ran as.
type files struct {
	plan *confine.Plan
	path string
	end  time.Time
}

// ask asks one question that may hang.
func ask[T any](f *files, question func() (T, error)) (T, error) {
	type reply struct {
		value T
		err   error
	}
	left := time.Until(f.end)
	if left <= 0 {
		var zero T
		return zero, errPatience
	}
	replies := make(chan reply, 1)
	go func() {
		value, err := question()
		replies <- reply{value, err}
	}()
	select {
	case r := <-replies:
		return r.value, r.err
	case <-time.After(left):
		var zero T
		return zero, errPatience
	}
}

// Resolve follows the symlinks of as much of path as exists.
func (f *files) Resolve(path string) (string, error) {
	return ask(f, func() (string, error) { return policy.ResolveMissing(path) })
}

// Granted asks the rules that were in force.
func (f *files) Granted(path string, op fact.Op) bool { return f.plan.Granted(path, op) }

// Permitted asks the kernel about the effective user, which is the command's.
func (f *files) Permitted(path string, op fact.Op) (bool, error) {
	return ask(f, func() (bool, error) { return permitted(path, op) })
}

func permitted(path string, op fact.Op) (bool, error) {
	switch op {
	case fact.OpDelete, fact.OpRename, fact.OpLink:
		return accessible(filepath.Dir(path), unix.W_OK|unix.X_OK)
	case fact.OpRead:
		return accessible(path, unix.R_OK)
	case fact.OpExecute:
		return accessible(path, unix.X_OK)
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && op != fact.OpTruncate {
		return accessible(filepath.Dir(path), unix.W_OK|unix.X_OK)
	}
	return accessible(path, unix.W_OK)
}

// accessible is faccessat2 with AT_EACCESS. The kernel's "no" is an answer.
func accessible(path string, mode uint32) (bool, error) {
	err := unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EROFS):
		return false, nil
	}
	return false, err
}

// Program reports whether the command could have run a program of that name.
func (f *files) Program(name string) bool {
	found, err := ask(f, func() (bool, error) {
		if strings.Contains(name, "/") {
			return executable(name) == nil, nil
		}
		for _, dir := range filepath.SplitList(f.path) {
			if executable(filepath.Join(dir, name)) == nil {
				return true, nil
			}
		}
		return false, nil
	})
	return found && err == nil
}
