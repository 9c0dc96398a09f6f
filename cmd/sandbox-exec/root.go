package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
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
	root.AddCommand(newRun(std, status), newProbe(std, status), newExplain(std), newVersion())
	return root
}

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "sandbox-exec %s %s/%s %s\n", version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}

// version is what the Go tool recorded: a tag, or a commit's pseudo-version.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}
