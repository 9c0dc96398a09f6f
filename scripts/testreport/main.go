// Command testreport sums up runs of go test: every skip with its reason, then
// one line "N passed, N failed, N skipped" over all of them. It fails if
// anything failed, did not end, or if a run had no tests.
//
//	testreport NAME=STATUS=FILE...
//
// STATUS is the exit status of the run, FILE its events (go doc test2json).
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	failed, err := report(os.Stdout, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "testreport:", err)
	}
	if failed || err != nil {
		os.Exit(1)
	}
}

// report writes the summary of the runs and tells whether one of them failed.
func report(w io.Writer, runs []string) (failed bool, err error) {
	var sum run
	for _, arg := range runs {
		parts := strings.SplitN(arg, "=", 3)
		if len(parts) != 3 {
			return true, fmt.Errorf("got %q, want NAME=STATUS=FILE", arg)
		}
		r := readFile(parts[2])
		r.settle(parts[1])
		sum.add(parts[0], r)
	}
	if len(sum.failures) > 0 {
		fmt.Fprintf(w, "\nfailures:\n%s\n", strings.Join(sum.failures, "\n"))
	}
	skips := " none"
	if len(sum.skips) > 0 {
		skips = "\n" + strings.Join(sum.skips, "\n")
	}
	_, err = fmt.Fprintf(w, "\nskips:%s\n%d passed, %d failed, %d skipped\n",
		skips, sum.passed, len(sum.failures), len(sum.skips))
	return len(sum.failures) > 0, err
}

func readFile(name string) *run {
	file, err := os.Open(name)
	if err != nil {
		return &run{failures: []string{err.Error()}}
	}
	defer file.Close()
	return read(file)
}

// read follows the events to their end. What it can not read is a failure: a
// run that was killed leaves half a line.
func read(events io.Reader) *run {
	r := &run{open: map[string]bool{}, output: map[string][]string{}, broken: map[string]bool{}}
	decoder := json.NewDecoder(events)
	for {
		var e event
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			return r
		}
		if err != nil {
			r.failures = append(r.failures, fmt.Sprintf("  events: %v", err))
			return r
		}
		r.see(e)
	}
}
