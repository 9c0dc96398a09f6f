package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

func newProbe(std stdio, status *int) *cobra.Command {
	var asJSON bool
	var stateDir string
	cmd := &cobra.Command{
		Use:   "probe",
		Short: "Try both confining modes here, and tell promise by promise what holds",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := probe(cmd.Context(), stateDir)
			if !p.Runs {
				*status = statusSandbox
			}
			if asJSON {
				return json.NewEncoder(std.out).Encode(p)
			}
			return p.print(std.out)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	cmd.Flags().StringVar(&stateDir, "state-dir", "", "the private directory `DIR` for scratch directories (default: /var/tmp/sandbox-exec-UID)")
	return cmd
}

// probed is what a probe found. Every mode was really run.
type probed struct {
	Version int    `json:"version"`
	Kernel  string `json:"kernel"`
	UID     int    `json:"uid"`
	// Runs says that both confining modes can run.
	Runs  bool         `json:"runs"`
	Modes []probedMode `json:"modes"`
	// Asked is the row of the limits where one is asked that needs a control group,
	// and AskedError why nothing would run then. A way to a group that costs is
	// gone for no less.
	Asked      *fact.Row `json:"asked,omitempty"`
	AskedError *failure  `json:"askedError,omitempty"`
}

// probedMode is one mode: its report, or why nothing can run in it.
type probedMode struct {
	Mode   policy.Mode  `json:"mode"`
	Report *fact.Report `json:"report,omitempty"`
	Error  *failure     `json:"error,omitempty"`
}

func probe(ctx context.Context, stateDir string) probed {
	p := probed{Version: documentVersion, Kernel: release(), UID: os.Geteuid(), Runs: true}
	for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
		m := probedMode{Mode: mode}
		report, err := try(ctx, policy.Policy{Mode: mode}, stateDir)
		if err != nil {
			m.Error, _ = explainFailure(err)
			p.Runs = false
		} else {
			m.Report = &report
		}
		p.Modes = append(p.Modes, m)
	}
	if p.Runs {
		p.askLimit(ctx, stateDir)
	}
	return p
}

// askLimit asks for the limit that is there without being asked where that costs
// nothing.
func (p *probed) askLimit(ctx context.Context, stateDir string) {
	limits := policy.Limits{Processes: policy.Limits{}.ProcessLimit()}
	report, err := try(ctx, policy.Policy{Mode: policy.ReadOnly, Limits: limits}, stateDir)
	if err != nil {
		p.AskedError, _ = explainFailure(err)
		return
	}
	for _, row := range report.Rows {
		if row.Promise == policy.PromiseLimits {
			p.Asked = &row
		}
	}
}

// probeTimeout is far more than a command that does nothing needs.
const probeTimeout = 30 * time.Second

// try runs a command that does nothing, in an empty workspace.
func try(ctx context.Context, asked policy.Policy, stateDir string) (fact.Report, error) {
	workspace, err := os.MkdirTemp("", "sandbox-exec-probe-")
	if err != nil {
		return fact.Report{}, err
	}
	defer os.Remove(workspace)
	f := runFlags{config: executor.Config{StateDir: stateDir}}
	e, err := f.newExecutor()
	if err != nil {
		return fact.Report{}, err
	}
	defer e.Close()
	asked.Workspace = workspace
	spec, err := e.Resolve(executor.Request{Command: "true", Timeout: probeTimeout, Policy: &asked})
	if err != nil {
		return fact.Report{}, err
	}
	result, err := e.Run(ctx, spec)
	if err == nil && result.Exit.Failed() {
		err = fmt.Errorf("bash ran and did not end well: exit status %d", result.Exit.Code)
	}
	return result.Report, err
}

func release() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

func (p probed) print(w io.Writer) error {
	fmt.Fprintf(w, "Linux %s, uid %d\n\n", p.Kernel, p.UID)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PROMISE\tREAD-ONLY\tWORKSPACE-WRITE\tBY")
	for i, promise := range policy.Promises() {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", promise, p.Modes[0].status(i), p.Modes[1].status(i), p.detail(i))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	p.printMissing(w)
	p.printAsked(w)
	return p.printVerdict(w)
}

func (m probedMode) status(i int) fact.Status {
	if m.Report == nil {
		return "cannot run"
	}
	return m.Report.Rows[i].Status
}

// detail says by what a promise is held, from the mode that holds it best.
func (p probed) detail(i int) string {
	for _, m := range p.Modes {
		if m.Report != nil && m.Report.Rows[i].Status != fact.NotEnforced {
			return m.Report.Rows[i].Detail
		}
	}
	return ""
}

// printMissing has a line for each thing that does not hold, and what helps.
func (p probed) printMissing(w io.Writer) {
	for _, m := range p.Modes {
		if m.Error != nil {
			fmt.Fprintf(w, "\n%s cannot run: %s: %s\n", m.Mode, m.Error.Stage, m.Error.Detail)
			printHint(w, m.Error.Hint)
			continue
		}
		for _, row := range m.Report.Rows {
			if row.Status == fact.NotEnforced {
				fmt.Fprintf(w, "\n%s does not hold %s: %s\n", m.Mode, row.Promise, row.Detail)
				printHint(w, row.Hint)
			}
		}
	}
}

// printAsked tells what becomes of a limit that is asked, where that is not what
// the table says.
func (p probed) printAsked(w io.Writer) {
	switch {
	case p.AskedError != nil:
		fmt.Fprintf(w, "\na limit that is asked keeps a command from running: %s\n", p.AskedError.Detail)
		printHint(w, p.AskedError.Hint)
	case p.Asked != nil && p.Asked.Detail != p.detail(slices.Index(policy.Promises(), policy.PromiseLimits)):
		fmt.Fprintf(w, "\na limit that is asked is held: %s\n", p.Asked.Detail)
	}
}

func printHint(w io.Writer, hint string) {
	if hint != "" {
		fmt.Fprintln(w, "  hint:", hint)
	}
}

func (p probed) printVerdict(w io.Writer) error {
	verdict := "the confining modes can run here"
	var full, cannot []string
	for _, m := range p.Modes {
		if m.Error != nil {
			cannot = append(cannot, m.Mode.String())
		}
		if m.Report != nil && m.Report.Enforcement == fact.Full {
			full = append(full, m.Mode.String())
		}
	}
	if len(cannot) > 0 {
		verdict = "no command would run here in " + strings.Join(cannot, " and ")
	}
	if len(full) > 0 {
		verdict += "; full enforcement in " + strings.Join(full, " and ")
	}
	_, err := fmt.Fprintln(w, "\nverdict:", verdict)
	return err
}
