package executor

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/keeper"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Executor runs commands. It is safe for use by several goroutines.
type Executor struct {
	config Config
	shell  string
	helper string
	// links are the symlinks that a configured helper was reached through.
	links  []string
	state  state
	spills spills
	widths widths
	tasks  tasks
	keeper *keeper.Keeper
	// taken says that a filter around this process has the one listener that the
	// kernel allows.
	taken atomic.Bool
}

// self is this program, also where its file was moved or removed.
const self = "/proc/self/exe"

// New returns an executor; Close ends it. It fails where this program never
// called confine.RunHelper and no other helper is named.
func New(c Config) (*Executor, error) {
	if c.Helper == "" && !confine.Hooked() {
		return nil, errors.New("executor: this program would be started again as the helper and run as a whole: " +
			"call confine.RunHelper() as the first statement of main (and of TestMain), or set Config.Helper")
	}
	e := &Executor{config: c, helper: c.Helper}
	err := e.findHelper()
	if err != nil {
		return nil, err
	}
	if e.shell, err = findShell(c.Shell); err != nil {
		return nil, err
	}
	if e.state, err = openState(c.StateDir, c.Environ); err != nil {
		return nil, err
	}
	if err := e.state.sweep(); err != nil {
		return nil, fmt.Errorf("sweep the state directory: %w", err)
	}
	e.spills.dir = filepath.Join(e.state.dir, spillDir)
	e.spills.sweep.now(e.spills.dir)
	if e.keeper, err = keeper.Start(keeper.Options{OwnTree: c.OwnTree, CgroupParent: c.CgroupParent, Environ: c.Environ}); err != nil {
		return nil, fmt.Errorf("start the keeper: %w", err)
	}
	return e, nil
}

// findHelper settles which program is started. A symlink is followed once: what
// it leads to later is not what was looked at.
func (e *Executor) findHelper() error {
	if e.helper == "" {
		e.helper = self
		return nil
	}
	if !filepath.IsAbs(e.helper) {
		return &policy.InputError{What: "helper", Value: e.helper, Want: "expected an absolute path"}
	}
	real, links, err := policy.Follow(e.helper)
	if err != nil {
		return &policy.InputError{What: "helper", Value: e.helper, Want: "expected an executable file", Err: err}
	}
	e.helper, e.links = real, links
	return nil
}

// Close kills every command that still runs, tasks as well, and waits for its
// end, at most keeper.EndPatience for one that cannot be killed. Their runs end as
// aborted. Close returns when every task is done and its Config.OnTaskDone has
// returned, so that must not call Close. What is kept of the tasks can still be
// read. Closing again does nothing but wait.
func (e *Executor) Close() error {
	e.tasks.close()
	err := e.keeper.Close()
	e.tasks.wait()
	return err
}
