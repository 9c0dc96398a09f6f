package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// runFlags is what "run" was asked.
type runFlags struct {
	policy   policy.Policy
	writable []string
	request  executor.Request
	config   executor.Config
	json     string
	quiet    bool
	verbose  bool
	// refused is the first value that could not be taken. It is kept until all
	// flags are read, so that the result document can tell it.
	refused error
}

// keep remembers a refused value.
func (f *runFlags) keep(err error) error {
	if f.refused == nil {
		f.refused = err
	}
	return nil
}

// register adds the flags of run.
func (f *runFlags) register(set *pflag.FlagSet) {
	f.registerPolicy(set)
	set.Var(option[policy.Require]{f, &f.request.Require, policy.ParseRequire}, "require", "`LEVEL`: full, or enforced (which no confining mode reaches in this version); do not run where less than that holds (default: run and report)")
	set.StringVar(&f.json, "json", "", "write the result as JSON to `FILE`, - for stdout, or fd:N")
	set.BoolVar(&f.quiet, "quiet", false, "print no facts at the end")
	set.BoolVar(&f.verbose, "verbose", false, "print every fact and the whole report at the end")
}

// registerPolicy adds the flags that say what is to be run and under what.
func (f *runFlags) registerPolicy(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVarP(&f.request.Command, "command", "c", "", "the `COMMAND` that bash runs")
	set.Var(modeFlag{f}, "mode", "`MODE`: read-only (default), workspace-write or danger-full-access")
	set.StringVar(&f.policy.Workspace, "workspace", "", "the directory `DIR` to work in, writable in workspace-write (default: the current one)")
	set.StringVar(&f.request.Workdir, "workdir", "", "the directory `DIR` to start in (default: the workspace)")
	set.StringArrayVar(&f.writable, "writable", nil, "a further `PATH` that workspace-write may change; may be repeated")
	set.StringArrayVar(&f.policy.Unreadable, "unreadable", nil, "a `PATH` whose content cannot be read; may be repeated")
	set.Var(option[policy.Network]{f, &f.policy.Network, policy.ParseNetwork}, "network", "`WHICH`: deny (default) or allow")
	set.Var(option[policy.IPC]{f, &f.policy.IPC, policy.ParseIPC}, "ipc", "`WHICH`: none (default), or host: System V IPC, message queues and /dev/shm")
	set.Var(option[policy.Temp]{f, &f.policy.Temp, policy.ParseTemp}, "temp", "`WHICH`: private (default), a scratch directory as TMPDIR, or host: /tmp can be written as well")
	set.Var(option[policy.Terminals]{f, &f.policy.Terminals, policy.ParseTerminals}, "terminals", "`WHICH`: none (default), or host: terminals below /dev/pts can be opened by name")
	set.StringArrayVar(&f.policy.Devices, "device", nil, "a device `PATH` below /dev that may be used; may be repeated")
	set.Var(promises{f, &f.policy.Closed}, "closed", "hold the promise `NAME` (metadata) by refusing all that it is about; may be repeated")
	set.Var(promises{f, &f.policy.AllowUnenforced}, "allow-unenforced", "do without the promise `NAME` (metadata); may be repeated")
	set.Var(duration{f, &f.request.Timeout, "timeout"}, "timeout", "stop the command after this `DURATION`, such as 30s or 5m (default: never)")
	set.Var(duration{f, &f.config.Grace, "grace"}, "grace", "the `DURATION` from SIGTERM to SIGKILL (default 3s)")
	f.registerLimits(set)
	set.StringArrayVar(&f.request.Env, "env", nil, "set a variable, `NAME=VALUE`, as it is; may be repeated")
	set.StringArrayVar(&f.config.KeepEnv, "keep-env", nil, "keep the variable `NAME` that would be scrubbed; may be repeated")
	set.StringVar(&f.config.StateDir, "state-dir", "", "the private directory `DIR` for scratch directories (default: /var/tmp/sandbox-exec-UID)")
}

// option is a flag with a few accepted values.
type option[T ~string] struct {
	flags *runFlags
	value *T
	parse func(string) (T, error)
}

func (o option[T]) String() string {
	if o.value == nil {
		return ""
	}
	return string(*o.value)
}

func (o option[T]) Type() string { return "value" }

func (o option[T]) Set(s string) error {
	parsed, err := o.parse(s)
	if err != nil {
		return o.flags.keep(err)
	}
	*o.value = parsed
	return nil
}

// modeFlag is the flag of the mode, whose zero value has a name.
type modeFlag struct{ flags *runFlags }

func (m modeFlag) String() string {
	if m.flags == nil {
		return ""
	}
	return m.flags.policy.Mode.String()
}

func (m modeFlag) Type() string { return "mode" }

func (m modeFlag) Set(s string) error {
	parsed, err := policy.ParseMode(s)
	if err != nil {
		return m.flags.keep(err)
	}
	m.flags.policy.Mode = parsed
	return nil
}

// promises is a flag that names promises, one at a time.
type promises struct {
	flags *runFlags
	list  *[]policy.Promise
}

func (p promises) String() string {
	if p.list == nil {
		return ""
	}
	return joined(*p.list)
}

func (p promises) Type() string { return "promise" }

func (p promises) Set(s string) error {
	parsed, err := policy.ParseChoice(s)
	if err != nil {
		return p.flags.keep(err)
	}
	*p.list = append(*p.list, parsed)
	return nil
}

// duration is a flag that takes a positive duration.
type duration struct {
	flags *runFlags
	value *time.Duration
	name  string
}

func (d duration) String() string {
	if d.value == nil || *d.value == 0 {
		return ""
	}
	return d.value.String()
}

func (d duration) Type() string { return "duration" }

func (d duration) Set(s string) error {
	parsed, err := time.ParseDuration(s)
	if err != nil || parsed <= 0 {
		return d.flags.keep(&policy.InputError{What: d.name, Value: s, Want: "expected a positive duration such as 500ms, 30s, 5m or 1h30m", Err: err})
	}
	*d.value = parsed
	return nil
}
