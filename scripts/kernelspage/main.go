// Command kernelspage writes the page about the kernels that the tests ran on,
// from what the machines of make test-vm left.
//
//	kernelspage DIRECTORY PAGE
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: kernelspage DIRECTORY PAGE")
		os.Exit(2)
	}
	if err := update(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "kernelspage:", err)
		os.Exit(1)
	}
}

func update(runs, page string) error {
	dirs, err := filepath.Glob(filepath.Join(runs, "*", "release"))
	if err != nil {
		return err
	}
	var list []machine
	for _, release := range dirs {
		m, err := readMachine(filepath.Dir(release))
		if err != nil {
			return err
		}
		list = append(list, m)
	}
	if len(list) == 0 {
		return errors.New("no machine has run: make test-vm")
	}
	slices.SortFunc(list, func(a, b machine) int { return slices.Compare(numbers(a.release), numbers(b.release)) })
	host, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return err
	}
	var text strings.Builder
	write(&text, list, strings.TrimSpace(string(host)), time.Now().UTC().Format(time.DateOnly))
	return os.WriteFile(page, []byte(text.String()), 0o644)
}

// numbers are the numbers that a release begins with.
func numbers(release string) []int {
	var list []int
	for part := range strings.SplitSeq(release, ".") {
		n, digits := 0, 0
		for digits < len(part) && part[digits] >= '0' && part[digits] <= '9' {
			n, digits = 10*n+int(part[digits]-'0'), digits+1
		}
		list = append(list, n)
		if digits < len(part) {
			break
		}
	}
	return list
}

const head = `# The kernels that the tests ran on

Written on %s by ` + "`make test-vm kernels-page`" + ` on a host with Linux %s. Each kernel is Debian's package for virtual
machines, booted under emulation, with control groups of version 2 alone; the tests ran as root and as an ordinary user,
each in a subtree that was handed over. What a machine lacks (gcc, node, a device) a test skips, and the count says so.
Landlock's ABIs 1, 3, 4 and 5 are in no package there is: ` + "`TestPromises`" + ` plays them on the others.

| kernel | Landlock | broker | control groups | root: passed, failed, skipped | user: passed, failed, skipped |
|---|---|---|---|---|---|
`

func write(w io.Writer, list []machine, host, date string) {
	fmt.Fprintf(w, head, date, host)
	for _, m := range list {
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", m.release, m.landlock(), yesNo(m.has("broker")),
			orNone(m.lines["FACTS"]), m.counts["root"], m.counts["builder"])
	}
	if list[0].selection != "" {
		fmt.Fprintf(w, "\nOnly a part of the tests ran: `%s`.\n", list[0].selection)
	}
	fmt.Fprint(w, "\nThe broker needs a listener that signals leave alone (`SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`, Linux 5.19).\n")
	fmt.Fprint(w, "What each promise comes to, as `sandbox-exec probe` reports it to an ordinary user, in read-only and in workspace-write where the two differ:\n\n")
	fmt.Fprint(w, "| promise |")
	for _, m := range list {
		fmt.Fprintf(w, " %s |", series(m.release))
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(list)))
	for _, promise := range promises(list) {
		fmt.Fprintf(w, "| %s |", promise)
		for _, m := range list {
			fmt.Fprintf(w, " %s |", m.promise(promise))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "\nThe packages, with the SHA-256 of each:\n\n```\n")
	for _, m := range list {
		fmt.Fprintln(w, m.pkg)
	}
	fmt.Fprint(w, "```\n")
}

// promises lists what any of the machines reports, in the order of the report.
func promises(list []machine) []string {
	longest := slices.MaxFunc(list, func(a, b machine) int { return cmp.Compare(len(a.order), len(b.order)) })
	return longest.order
}

func series(release string) string {
	n := numbers(release)
	if len(n) < 2 {
		return release
	}
	return fmt.Sprintf("%d.%d", n[0], n[1])
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
