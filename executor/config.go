package executor

import (
	"time"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Config is what all commands of an executor have in common. The zero value
// works: it confines commands to read-only in the current directory.
type Config struct {
	// Policy is used by requests that bring none. Its workspace may be empty:
	// the process's current directory.
	Policy policy.Policy
	// Shell is the absolute path of the bash that runs commands; empty is the
	// first of /bin/bash and /usr/bin/bash that exists.
	Shell string
	// Helper is the program that is started as the helper; empty is this program
	// itself, which must call confine.RunHelper first of all. Another program
	// must do the same, such as an installed sandbox-exec.
	Helper string
	// StateDir is the private directory for scratch directories. It must not lie
	// in a writable root. Empty is /var/tmp/sandbox-exec-UID, or where that
	// cannot be written the same name below $TMPDIR of Environ or /tmp.
	StateDir string
	// Environ is the environment that commands inherit, after it was scrubbed,
	// as os.Environ gives it; nil is an empty one with a plain PATH.
	Environ []string
	// KeepEnv names variables that the scrub leaves alone.
	KeepEnv []string
	// OwnTree says that this process starts no other processes and runs one
	// command at a time, as a command line does. It then becomes the parent of
	// all that a command leaves behind, and kills that at the command's end,
	// also what has left the process group. In a program that starts others later
	// these would be killed; where it has children already the tree is not owned,
	// and the report says so. The process stays a sub-reaper after Close.
	OwnTree bool
	// CgroupParent is the absolute directory of a control group that was handed
	// over to this user, such as /sys/fs/cgroup/jobs: runs get groups below it. With
	// version 1 it is one of any controller, and the others are taken at the same
	// path. Empty is wherever this process finds that it may make groups; without
	// any, limits are held in a scope that the user's systemd makes, where Environ
	// leads to it (XDG_RUNTIME_DIR, DBUS_SESSION_BUS_ADDRESS), or refused. What cannot be used is a
	// *policy.InputError of New.
	CgroupParent string
	// Timeout is for requests that name none; zero is two minutes, negative is
	// no timeout.
	Timeout time.Duration
	// MaxTimeout caps every timeout; zero is ten minutes, negative is no cap.
	MaxTimeout time.Duration
	// Grace is the time from SIGTERM to SIGKILL, and how long output is waited
	// for after the command's end; zero is three seconds.
	Grace time.Duration
	// OnTaskDone is called once for each task that Start returned, when it is done:
	// on a goroutine of the task, so that several calls may run at the same time, and
	// perhaps before Start has returned. It must return for Close to return, and so
	// must not call it. Nil is nobody.
	OnTaskDone func(*Task)
}

const (
	defaultTimeout    = 2 * time.Minute
	defaultMaxTimeout = 10 * time.Minute
	defaultGrace      = 3 * time.Second
)

// timeout is what a request's timeout comes to: zero is none.
func (c Config) timeout(asked time.Duration) time.Duration {
	d := asked
	if d == 0 {
		d = orDefault(c.Timeout, defaultTimeout)
	}
	limit := orDefault(c.MaxTimeout, defaultMaxTimeout)
	if limit > 0 && (d > limit || d < 0) {
		d = limit
	}
	return max(d, 0)
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}
