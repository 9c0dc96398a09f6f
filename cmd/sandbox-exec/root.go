package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

func newRoot(std stdio, status *int) *cobra.Command {
	root := &cobra.Command{
		Use:           "sandbox-exec",
		Short:         "Run a command that the Linux kernel holds to a mode",
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version(),
		RunE: func(*cobra.Command, []string) error {
			return errors.New("expected a command: run, probe, explain, version or completion (--help tells more)")
		},
		// Else a misspelt command is told only that it has no such flag.
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true},
	}
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.SetIn(std.in)
	root.SetVersionTemplate(versionLine())
	root.AddCommand(newRun(std, status), newProbe(std, status), newExplain(std), newVersion())
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, refuseShell
		}
	}
	return root
}

// refuseShell is for a shell that completion does not know: its own answer is a
// help text and success.
func refuseShell(_ *cobra.Command, args []string) error {
	return &policy.InputError{What: "shell", Value: strings.Join(args, " "), Want: "expected one of bash, fish, powershell, zsh"}
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), versionLine())
			return err
		},
	}
}

func versionLine() string {
	return fmt.Sprintf("sandbox-exec %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// version is what the Go tool recorded: a tag, or a commit's pseudo-version, and
// the commit where that is not in it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return info.Main.Version + " " + setting.Value
		}
	}
	return info.Main.Version
}
