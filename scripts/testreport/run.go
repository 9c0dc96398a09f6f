package main

import (
	"fmt"
	"slices"
	"strings"
)

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
}

func (e event) name() string { return strings.TrimSpace(e.Package + " " + e.Test) }

// run is what the events of one run say so far.
type run struct {
	passed   int
	failures []string
	skips    []string

	open   map[string]bool     // packages and tests that did not end
	broken map[string]bool     // packages with a failed test
	output map[string][]string // what each open test printed
}

func (r *run) see(e event) {
	switch e.Action {
	case "start", "run":
		r.open[e.name()] = true
	case "output":
		r.output[e.name()] = append(r.output[e.name()], e.Output)
	case "pass", "fail", "skip":
		r.end(e)
		delete(r.open, e.name())
		delete(r.output, e.name())
	}
}

// end counts a test. A package counts only when it fails without a failed test:
// it did not build, or its process died.
func (r *run) end(e event) {
	switch {
	case e.Action == "fail" && e.Test != "":
		r.broken[e.Package] = true
		r.failures = append(r.failures, "  "+e.name())
	case e.Action == "fail" && !r.broken[e.Package]:
		r.failures = append(r.failures, "  "+e.name()+": the package failed")
	case e.Test == "":
	case e.Action == "pass":
		r.passed++
	case e.Action == "skip":
		r.skips = append(r.skips, fmt.Sprintf("  %s: %s", e.name(), r.reason(e.name())))
	}
}

// reason is the last line that the test itself printed.
func (r *run) reason(name string) string {
	for _, line := range slices.Backward(r.output[name]) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			return line
		}
	}
	return "no reason given"
}

// settle adds what the events can not say: that the run ended early, failed for
// a reason of its own, or had nothing to run.
func (r *run) settle(status string) {
	for name := range r.open {
		r.failures = append(r.failures, "  "+name+": did not end")
	}
	slices.Sort(r.failures)
	slices.Sort(r.skips)
	if len(r.failures) > 0 {
		return
	}
	if status != "0" {
		r.failures = append(r.failures, "  the run ended with status "+status)
	} else if r.passed == 0 {
		r.failures = append(r.failures, "  no test ran")
	}
}

// add takes over the results of a run under its name.
func (r *run) add(name string, other *run) {
	r.passed += other.passed
	for _, line := range other.failures {
		r.failures = append(r.failures, "  "+name+":"+line[1:])
	}
	for _, line := range other.skips {
		r.skips = append(r.skips, "  "+name+":"+line[1:])
	}
}
