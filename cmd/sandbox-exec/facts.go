package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
	"github.com/sandbox-exec/sandbox-exec/tool"
)

// tell prints the facts of a run, each on its own line behind the command's
// own output.
func (f runFlags) tell(w *lineEnd, spec executor.Spec, r executor.Result) {
	if f.quiet {
		return
	}
	w.finish()
	for _, line := range markers(spec.Policy.Mode, r) {
		fmt.Fprintln(w, line)
	}
	for _, warning := range slices.Concat(spec.Warnings, r.Warnings) {
		fmt.Fprintln(w, "sandbox-exec: warning:", warning)
	}
	if f.verbose {
		verbose(w, r)
	} else if missing := missing(r.Report); missing != "" {
		fmt.Fprintf(w, "sandbox-exec: warning: not enforced in this run: %s (--verbose tells why)\n", missing)
	}
}

func markers(mode policy.Mode, r executor.Result) []string {
	var lines []string
	if r.Denied {
		lines = append(lines, tool.FileDenied(mode))
	}
	lines = append(lines, tool.LimitsReached(r.Limits)...)
	if r.Exit.TimedOut {
		lines = append(lines, tool.TimedOut(r.Timeout))
	}
	return lines
}

// missing lists the promises that were asked and are not held. A mode that
// confines nothing has made none.
func missing(r fact.Report) string {
	if !r.Mode.Confines() {
		return ""
	}
	return joined(r.Missing())
}

func joined(promises []policy.Promise) string {
	var names []string
	for _, p := range promises {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

func verbose(w io.Writer, r executor.Result) {
	for _, line := range tool.DenialDetails(r.Denials) {
		fmt.Fprintln(w, line)
	}
	if len(r.Scrubbed) > 0 {
		fmt.Fprintln(w, "sandbox-exec: not inherited:", strings.Join(r.Scrubbed, " "))
	}
	printUsage(w, r.Usage)
	fmt.Fprintf(w, "sandbox-exec: %s mode, enforcement %s\n", r.Report.Mode, enforcement(r.Report))
	printRows(w, "sandbox-exec:   ", r.Report)
}

// printRows prints a report's rows, aligned.
func printRows(w io.Writer, prefix string, r fact.Report) {
	for _, row := range r.Rows {
		fmt.Fprintf(w, "%s%-14s %s%s\n", prefix, row.Promise, row.Status, parenthesised(row.Detail))
	}
}

func enforcement(r fact.Report) string {
	if r.Enforcement == "" {
		return "not asked"
	}
	return string(r.Enforcement)
}

func parenthesised(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// lineEnd knows whether what was written ends a line.
type lineEnd struct {
	w io.Writer

	mu   sync.Mutex
	open bool
}

func (l *lineEnd) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(b) > 0 {
		l.open = b[len(b)-1] != '\n'
	}
	return l.w.Write(b)
}

// finish ends an open line.
func (l *lineEnd) finish() {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	if open {
		_, _ = l.Write([]byte("\n"))
	}
}
