package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// registerLimits adds the flags of the limits.
func (f *runFlags) registerLimits(set *pflag.FlagSet) {
	l := &f.policy.Limits
	set.Var(&limit[policy.Size]{flags: f, value: &l.Memory, name: "memory", parse: policy.ParseMemory}, "memory", "the memory `SIZE` that all processes of the command may use together, such as 512MiB")
	set.Var(&limit[int]{flags: f, value: &l.Processes, name: "pids", parse: policy.ParseProcesses}, "pids", fmt.Sprintf("the `NUMBER` of processes and threads (default: %d, where a control group can be had)", policy.DefaultProcesses))
	set.Var(&limit[float64]{flags: f, value: &l.CPUs, name: "cpus", parse: policy.ParseCPUs}, "cpus", "the `NUMBER` of processors, such as 0.5 or 2")
	set.Var(&limit[int]{flags: f, value: &l.OpenFiles, name: "open-files", parse: policy.ParseOpenFiles}, "open-files", "the `NUMBER` of files that each process may have open")
	set.Var(&limit[policy.Size]{flags: f, value: &l.FileSize, name: "file-size", parse: policy.ParseSize}, "file-size", "the `SIZE` of each file that is written, such as 1GiB")
	set.StringVar(&f.config.CgroupParent, "cgroup-parent", "", "the directory `DIR` of a control group that was handed over, for the command's own to be made in (default: what this process is in, where it may)")
}

// limit is a flag that takes a limit.
type limit[T comparable] struct {
	flags *runFlags
	value *T
	name  string
	parse func(what, text string) (T, error)
	text  string
}

func (l *limit[T]) String() string { return l.text }

func (l *limit[T]) Type() string { return "limit" }

func (l *limit[T]) Set(s string) error {
	parsed, err := l.parse(l.name, s)
	if err != nil {
		return l.flags.keep(err)
	}
	*l.value, l.text = parsed, s
	return nil
}

// limitsText is what is asked, and the default process limit where none is.
func limitsText(l policy.Limits) string {
	list := append(l.InGroup(), l.Each()...)
	if l.Processes == 0 {
		list = append(list, fmt.Sprintf("%d processes by default", l.ProcessLimit()))
	}
	return strings.Join(list, ", ")
}

// usage is fact.Usage in the result document.
type usage struct {
	UserMS   float64 `json:"userMs"`
	SystemMS float64 `json:"systemMs"`
	// Scope is whose time that is: group or waited.
	Scope         string  `json:"scope"`
	ThrottledMS   float64 `json:"throttledMs,omitempty"`
	MaxRSS        uint64  `json:"maxRssBytes"`
	PeakMemory    uint64  `json:"peakMemoryBytes,omitempty"`
	PeakProcesses int     `json:"peakProcesses,omitempty"`
}

func usageOf(u fact.Usage) *usage {
	scope := "waited"
	if u.Group {
		scope = "group"
	}
	return &usage{
		UserMS: milliseconds(u.User), SystemMS: milliseconds(u.System), Scope: scope, ThrottledMS: milliseconds(u.Throttled),
		MaxRSS: u.MaxRSS, PeakMemory: u.PeakMemory, PeakProcesses: u.PeakProcesses,
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// printUsage is one line of --verbose.
func printUsage(w io.Writer, u fact.Usage) {
	parts := []string{fmt.Sprintf("%s user and %s system time", u.User.Round(time.Millisecond), u.System.Round(time.Millisecond))}
	if !u.Group {
		parts[0] += " (of what was waited for)"
	}
	if u.Throttled > 0 {
		parts = append(parts, fmt.Sprintf("held back for %s", u.Throttled.Round(time.Millisecond)))
	}
	if u.PeakMemory > 0 {
		parts = append(parts, fmt.Sprintf("at most %d KiB of memory", u.PeakMemory>>10))
	} else {
		parts = append(parts, fmt.Sprintf("the largest process %d KiB", u.MaxRSS>>10))
	}
	if u.PeakProcesses > 0 {
		parts = append(parts, fmt.Sprintf("at most %d processes", u.PeakProcesses))
	}
	fmt.Fprintln(w, "sandbox-exec: used", strings.Join(parts, ", "))
}
