package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

func newRun(std stdio, status *int) *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] -c COMMAND | -- PROGRAM [ARGUMENT]...",
		Short: "Run one command, streaming its output, with facts on stderr at the end",
		Example: "  sandbox-exec run -c 'git log | head'\n" +
			"  sandbox-exec run --mode workspace-write --timeout 5m -c 'make test'\n" +
			"  sandbox-exec run --mode workspace-write -- go build ./...",
		RunE: func(cmd *cobra.Command, args []string) error {
			wrong := flags.take(cmd, args)
			var err error
			*status, err = runCommand(cmd.Context(), flags, std, wrong)
			return err
		},
	}
	flags.register(cmd.Flags())
	cmd.MarkFlagsMutuallyExclusive("quiet", "verbose")
	return cmd
}

// take brings flags and arguments together.
func (f *runFlags) take(cmd *cobra.Command, args []string) error {
	if cmd.ArgsLenAtDash() == 0 {
		f.request.Argv = args
	} else if len(args) > 0 {
		return &policy.InputError{What: "argument", Value: args[0], Want: "expected -c COMMAND, or -- before a program and its arguments"}
	}
	given := cmd.Flags().Changed("command")
	switch {
	case given && len(args) > 0:
		return &policy.InputError{What: "command", Value: f.request.Command, Want: "expected -c COMMAND or -- PROGRAM, not both"}
	case !given && len(args) == 0:
		return &policy.InputError{What: "command", Value: "", Want: "expected -c COMMAND, or -- PROGRAM [ARGUMENT]..."}
	case f.refused != nil:
		return f.refused
	}
	if err := checkEmpty(cmd.Flags()); err != nil {
		return err
	}
	for _, path := range f.writable {
		f.policy.Writable = append(f.policy.Writable, policy.Root{Path: path})
	}
	f.request.Policy = &f.policy
	return nil
}

// checkEmpty refuses an empty value, such as an unset variable leaves: it would
// count as not given.
func checkEmpty(set *pflag.FlagSet) (err error) {
	set.Visit(func(flag *pflag.Flag) {
		list, many := flag.Value.(pflag.SliceValue)
		empty := flag.Value.String() == "" || many && slices.Contains(list.GetSlice(), "")
		if empty && flag.Name != "command" && err == nil {
			err = &policy.InputError{What: flag.Name, Value: "", Want: "expected a value that is not empty"}
		}
	})
	return err
}

// runCommand is one "run". The result file is opened before anything else, so
// that it can tell also what kept the command from running, be it the value of a
// flag. A flag that does not exist is known before the file is.
func runCommand(ctx context.Context, f runFlags, std stdio, wrong error) (int, error) {
	document, err := openDocument(f.json, std.out)
	if err != nil {
		return statusSandbox, err
	}
	stderr := &lineEnd{w: std.err}
	f.request.Stdout, f.request.Stderr = std.out, stderr
	if f.json == "-" || sameFile(std.out, std.err) {
		f.request.Stdout = stderr // else nobody knew whether a line is open there
	}
	f.request.Stdin = input(std.in)

	spec, result, err := asked(executor.Spec{}, f), executor.Result{}, wrong
	if wrong == nil {
		spec, result, err = execute(ctx, f)
	}
	status := exitStatus(result.Exit)
	if err != nil {
		status = errorStatus(err, f.request.Command)
		complain(stderr, err)
	} else {
		f.tell(stderr, spec, result)
		status = max(status, lost(stderr, result))
	}
	if failed := document.write(describe(spec, result, status, err)); failed != nil {
		complain(stderr, failed)
		status = max(status, statusLost)
	}
	return status, nil
}

// lost reports output that could not be passed on. A reader that went away
// wants none, and the command was told by SIGPIPE.
func lost(stderr io.Writer, r executor.Result) int {
	for _, err := range []error{r.Stdout.WriteError, r.Stderr.WriteError} {
		if err != nil && !errors.Is(err, syscall.EPIPE) {
			complain(stderr, fmt.Errorf("pass on the command's output: %w", err))
			return statusLost
		}
	}
	return statusOK
}

// execute resolves and runs, with the signals that ask this process to end
// passed on to the command.
func execute(ctx context.Context, f runFlags) (executor.Spec, executor.Result, error) {
	e, err := f.newExecutor()
	if err != nil {
		return executor.Spec{}, executor.Result{}, err
	}
	defer e.Close()
	spec, err := e.Resolve(f.request)
	if err != nil {
		return asked(spec, f), executor.Result{}, err
	}
	ctx, stop := forwardSignals(ctx)
	defer stop()
	result, err := e.Run(ctx, spec)
	return spec, result, err
}

// forwardSignals ends the context with the first signal that asks this process
// to end. One that the caller ignores, as under nohup, stays ignored.
func forwardSignals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 4)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		if s, open := <-signals; open {
			cancel(executor.Interrupt{Signal: s.(syscall.Signal)})
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}

// asked is what is known of a request that could not be resolved.
func asked(spec executor.Spec, f runFlags) executor.Spec {
	if spec.Command == "" {
		spec.Policy, spec.Argv = f.policy, f.request.Argv
		spec.Command = f.request.Command + strings.Join(f.request.Argv, " ")
	}
	return spec
}

// newExecutor is the executor of a command line.
func (f runFlags) newExecutor() (*executor.Executor, error) {
	f.config.Environ = os.Environ()
	f.config.Timeout, f.config.MaxTimeout = -1, -1
	f.config.OwnTree = true
	return executor.New(f.config)
}

func sameFile(a, b io.Writer) bool {
	fa, isFile := a.(*os.File)
	fb, alsoFile := b.(*os.File)
	if !isFile || !alsoFile {
		return false
	}
	ia, errA := fa.Stat()
	ib, errB := fb.Stat()
	return errA == nil && errB == nil && os.SameFile(ia, ib)
}

// input is what the command reads. A terminal is not: a command in a session
// of its own could only be stopped by it.
func input(in *os.File) io.Reader {
	info, err := in.Stat()
	if err != nil || info.Mode()&fs.ModeCharDevice != 0 {
		return nil
	}
	return in
}
