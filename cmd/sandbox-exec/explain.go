package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

func newExplain(std stdio) *cobra.Command {
	var flags runFlags
	var filter bool
	cmd := &cobra.Command{
		Use:   "explain [flags] -c COMMAND | -- PROGRAM [ARGUMENT]...",
		Short: "Show what run would do: policy, rules, filter, plan; nothing runs",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.take(cmd, args); err != nil {
				return err
			}
			out := &errWriter{w: std.out}
			show := printAll
			if filter {
				show = printFilter
			}
			return errors.Join(explain(out, flags, show), out.err)
		},
	}
	flags.registerPolicy(cmd.Flags())
	cmd.Flags().BoolVar(&filter, "filter", false, "print the system call filter as libseccomp writes it, and nothing else")
	return cmd
}

// errWriter remembers the first error of its writer.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(b []byte) (int, error) {
	if e.err == nil {
		_, e.err = e.w.Write(b)
	}
	return len(b), nil
}

func explain(w io.Writer, f runFlags, show func(io.Writer, executor.Spec, *confine.Plan) error) error {
	e, err := f.newExecutor()
	if err != nil {
		return err
	}
	defer e.Close()
	spec, err := e.Resolve(f.request)
	if err != nil {
		return err
	}
	plan, err := e.Explain(spec)
	if err != nil {
		return err
	}
	return show(w, spec, plan)
}

func printAll(w io.Writer, s executor.Spec, plan *confine.Plan) error {
	printSpec(w, s)
	printPlan(w, plan)
	return nil
}

func printFilter(w io.Writer, _ executor.Spec, plan *confine.Plan) error {
	if plan.Filter == seccomp.None {
		fmt.Fprintln(w, "# no filter: the mode confines nothing")
		return nil
	}
	text, err := seccomp.PFC(plan.Filter)
	fmt.Fprint(w, text)
	return err
}

func printSpec(w io.Writer, s executor.Spec) {
	p := s.Policy
	fmt.Fprintln(w, "policy")
	for _, line := range [][2]string{
		{"mode", p.Mode.String()},
		{"workspace", quoted(p.Workspace)},
		{"writable", quoted(p.Roots()...)},
		{"unreadable", quoted(p.Unreadable...)},
		{"devices", quoted(p.Devices...)},
		{"network", string(p.Network)},
		{"ipc", string(p.IPC)},
		{"temp", string(p.Temp) + tempNote(p.Temp)},
		{"terminals", string(p.Terminals)},
		{"directory", quoted(s.Dir)},
		{"program", quoted(s.Program)},
		{"arguments", quoted(s.Argv...)},
		{"environment", fmt.Sprintf("%d variables besides TMPDIR; not inherited: %s", len(s.Env), orNone(strings.Join(s.Scrubbed, " ")))},
		{"timeout", timeoutText(s)},
		{"limits", limitsText(p.Limits)},
	} {
		fmt.Fprintf(w, "  %-12s %s\n", line[0], orNone(line[1]))
	}
	for _, warning := range s.Warnings {
		fmt.Fprintln(w, "  warning:", warning)
	}
}

// tempNote names what a grant of /tmp opens.
func tempNote(t policy.Temp) string {
	if t != policy.TempHost {
		return ""
	}
	return ": other programs' files and sockets in /tmp can be changed, and programs that others start from there, such as those of go run"
}

func timeoutText(s executor.Spec) string {
	if s.Timeout == 0 {
		return "none"
	}
	return fmt.Sprintf("%s, then %s from SIGTERM to SIGKILL", s.Timeout, s.Grace)
}

func printPlan(w io.Writer, plan *confine.Plan) {
	fmt.Fprintln(w, "landlock rules")
	for _, rule := range plan.Rules {
		fmt.Fprintf(w, "  %q: %s\n    %s\n", rule.Path, rule.Why, rule.Access)
	}
	fmt.Fprintf(w, "filter %s\n", plan.Filter)
	for _, group := range plan.Filter.Groups() {
		fmt.Fprintf(w, "  %-15s %s\n", group, rulesOf(plan.Filter, group))
	}
	fmt.Fprintln(w, "plan")
	for _, step := range plan.Steps {
		fmt.Fprintf(w, "  %-14s %d calls: %s\n", step.Name, len(step.Calls), step.Why)
	}
	fmt.Fprintf(w, "report: enforcement %s\n", enforcement(plan.Report))
	printRows(w, "  ", plan.Report)
}

// rulesOf counts the group's rules, and those that refuse nothing themselves.
func rulesOf(v seccomp.Variant, group seccomp.Group) string {
	n, asking := 0, 0
	for _, rule := range v.Rules() {
		if rule.Group == group {
			n++
			if rule.Asks() {
				asking++
			}
		}
	}
	if asking == 0 {
		return fmt.Sprintf("%d rules", n)
	}
	return fmt.Sprintf("%d rules, %d of them ask the broker", n, asking)
}

func quoted(values ...string) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf("%q", v))
	}
	return strings.Join(list, " ")
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
