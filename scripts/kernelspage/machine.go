package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// machine is what one machine said.
type machine struct {
	release, pkg string
	// selection narrows what ran, in the words of make test-vm.
	selection string
	// lines are the first of the VM- lines of each kind.
	lines map[string]string
	// order and modes are of the probe of the ordinary user: promise, then mode.
	order   []string
	modes   []map[string]string
	version string // of Landlock, with its errata
	counts  map[string]counts
}

type counts struct{ passed, failed, skipped int }

func (c counts) String() string { return fmt.Sprintf("%d, %d, %d", c.passed, c.failed, c.skipped) }

func readMachine(dir string) (machine, error) {
	m := machine{lines: map[string]string{}, counts: map[string]counts{}}
	for name, to := range map[string]*string{"release": &m.release, "package": &m.pkg} {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return m, err
		}
		*to = strings.TrimSpace(string(body))
	}
	if body, err := os.ReadFile(filepath.Join(dir, "selection")); err == nil {
		m.selection = strings.TrimSpace(string(body))
	}
	console, err := os.ReadFile(filepath.Join(dir, "console"))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(console)) {
		if err := m.read(strings.TrimSpace(line)); err != nil {
			return m, fmt.Errorf("%s: %w", dir, err)
		}
	}
	for _, user := range []string{"root", "builder"} {
		if m.counts[user], err = countEvents(filepath.Join(dir, user+".json")); err != nil {
			return m, err
		}
	}
	return m, nil
}

func (m *machine) read(line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	kind, ours := strings.CutPrefix(kind, "VM-")
	if !ours {
		return nil
	}
	if _, seen := m.lines[kind]; !seen {
		m.lines[kind] = rest
	}
	document, isUser := strings.CutPrefix(rest, "builder ")
	if kind == "PROBE" && isUser {
		return m.probe([]byte(document))
	}
	return nil
}

// probe reads the document of sandbox-exec probe.
func (m *machine) probe(document []byte) error {
	var p struct {
		Modes []struct {
			Report *struct {
				Landlock string
				Promises []struct{ Promise, Status string }
			}
		}
	}
	if err := json.Unmarshal(document, &p); err != nil {
		return fmt.Errorf("the probe: %w", err)
	}
	for _, mode := range p.Modes {
		status := map[string]string{}
		if mode.Report != nil {
			m.version = mode.Report.Landlock
			m.order = nil
			for _, row := range mode.Report.Promises {
				m.order = append(m.order, row.Promise)
				status[row.Promise] = row.Status
			}
		}
		m.modes = append(m.modes, status)
	}
	return nil
}

// has reports whether the machine listed a feature.
func (m *machine) has(feature string) bool {
	_, list, _ := strings.Cut(m.lines["REQUIRE"], " ")
	return slices.Contains(strings.Split(list, ","), feature)
}

func (m *machine) landlock() string {
	if m.version == "" {
		return "none"
	}
	// The product asks a newer kernel for the newest ABI that it knows.
	if line := strings.Fields(m.lines["ABI"]); len(line) > 1 && !strings.HasPrefix(m.version, "ABI "+line[1]+",") {
		return m.version + " (the kernel has " + line[1] + ")"
	}
	return m.version
}

func (m *machine) promise(name string) string {
	var list []string
	for _, mode := range m.modes {
		status := mode[name]
		if status == "" {
			status = "nothing runs"
		}
		if !slices.Contains(list, status) {
			list = append(list, status)
		}
	}
	return strings.Join(list, ", ")
}

// countEvents counts the tests in events of go test -json.
func countEvents(file string) (counts, error) {
	var c counts
	f, err := os.Open(file)
	if err != nil {
		return c, err
	}
	defer f.Close()
	for decoder := json.NewDecoder(f); ; {
		var event struct{ Action, Test string }
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return c, nil
		} else if err != nil {
			return c, fmt.Errorf("%s: %w", file, err)
		}
		switch {
		case event.Test == "":
		case event.Action == "pass":
			c.passed++
		case event.Action == "fail":
			c.failed++
		case event.Action == "skip":
			c.skipped++
		}
	}
}
