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
}

func (f *runFlags) register(set *pflag.FlagSet) {
	set.SortFlags = false
	set.StringVarP(&f.request.Command, "command", "c", "", "the `COMMAND` that bash runs")
	set.TextVar(&f.policy.Mode, "mode", policy.ReadOnly, "`MODE`: read-only, workspace-write or danger-full-access")
	set.StringVar(&f.policy.Workspace, "workspace", "", "the `DIR`ectory to work in, writable in workspace-write (default: the current one)")
	set.StringVar(&f.request.Workdir, "workdir", "", "the `DIR`ectory to start in (default: the workspace)")
	set.StringArrayVar(&f.writable, "writable", nil, "a further `PATH` that workspace-write may change")
	set.StringArrayVar(&f.policy.Unreadable, "unreadable", nil, "a `PATH` whose content cannot be read")
	set.Var(option[policy.Network]{&f.policy.Network, policy.ParseNetwork}, "network", "`deny` (default), or allow")
	set.Var(option[policy.IPC]{&f.policy.IPC, policy.ParseIPC}, "ipc", "`none` (default), or host: System V IPC and message queues")
	set.Var(option[policy.Temp]{&f.policy.Temp, policy.ParseTemp}, "temp", "`private` (default): a scratch directory as TMPDIR, or host: /tmp can be written as well")
	set.Var(option[policy.Terminals]{&f.policy.Terminals, policy.ParseTerminals}, "terminals", "`none` (default), or host: terminals below /dev/pts can be opened by name")
	set.StringArrayVar(&f.policy.Devices, "device", nil, "a device `PATH` below /dev that may be used")
	set.Var(duration{&f.request.Timeout, "timeout"}, "timeout", "stop the command after this `DURATION`, such as 30s or 5m (default: never)")
	set.Var(duration{&f.config.Grace, "grace"}, "grace", "the `DURATION` from SIGTERM to SIGKILL (default 3s)")
	set.StringArrayVar(&f.request.Env, "env", nil, "set a variable, `NAME=VALUE`, as it is")
	set.StringArrayVar(&f.config.KeepEnv, "keep-env", nil, "keep the variable `NAME` that would be scrubbed")
	set.StringVar(&f.config.StateDir, "state-dir", "", "the private `DIR`ectory for scratch directories")
	set.Var(option[policy.Require]{&f.request.Require, policy.ParseRequire}, "require", "`full` or enforced: do not run where less than that holds")
	set.StringVar(&f.json, "json", "", "write the result as JSON to `FILE`, - for stdout, or fd:N")
	set.BoolVar(&f.quiet, "quiet", false, "print no facts at the end")
	set.BoolVar(&f.verbose, "verbose", false, "print every fact and the whole report at the end")
}

// option is a flag with a few accepted values.
type option[T ~string] struct {
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
	if err == nil {
		*o.value = parsed
	}
	return err
}

// duration is a flag that takes a positive duration.
type duration struct {
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
		return &policy.InputError{What: d.name, Value: s, Want: "expected a positive duration such as 500ms, 30s, 5m or 1h30m", Err: err}
	}
	*d.value = parsed
	return nil
}
