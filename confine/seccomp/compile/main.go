// Command compile generates what package seccomp embeds: the table of call
// numbers, and for each architecture the program and the text of every variant.
// It is a module of its own because it needs libseccomp and C, which the product
// does not. It installs no filter.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// versionFile records the libseccomp that made the programs.
const versionFile = "libseccomp-version"

// parent is package seccomp's directory: go generate and go test run here.
const parent = ".."

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "compile:", err)
		os.Exit(1)
	}
}

func generate() error {
	if err := generateNumbers(); err != nil {
		return err
	}
	for _, arch := range seccomp.Arches() {
		all, err := compileAll(arch)
		if err != nil {
			return err
		}
		if err := write(all, arch); err != nil {
			return err
		}
	}
	return os.WriteFile(inPrograms(versionFile), []byte(libseccompVersion()+"\n"), 0o644)
}

// generateNumbers stops where the table of numbers changes: this program was
// built with the old one.
func generateNumbers() error {
	files, err := numbersFiles()
	if err != nil {
		return err
	}
	const table = "numbers_generated.go"
	old, err := os.ReadFile(filepath.Join(parent, table))
	if err != nil {
		return err
	}
	for name, source := range files {
		if err := os.WriteFile(filepath.Join(parent, name), source, 0o644); err != nil {
			return err
		}
	}
	if !bytes.Equal(old, files[table]) {
		return fmt.Errorf("%s has changed: run this again", table)
	}
	return nil
}

func write(all []compiled, arch seccomp.Arch) error {
	programs, err := packPrograms(all)
	if err != nil {
		return err
	}
	texts, err := packTexts(all)
	if err != nil {
		return err
	}
	files := readable(all, arch)
	files[inPrograms(string(arch)+".filters")] = programs
	files[inPrograms(string(arch)+".pfc.gz")] = texts
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func inPrograms(name string) string { return filepath.Join(parent, "programs", name) }

// readable holds some texts that are not packed, so that a change to the rules
// can be read as a change to them.
func readable(all []compiled, arch seccomp.Arch) map[string][]byte {
	files := map[string][]byte{}
	for name, v := range readableVariants() {
		for _, c := range all {
			if c.variant == v {
				files[inPrograms(fmt.Sprintf("%s-%s.pfc", arch, name))] = []byte(c.text)
			}
		}
	}
	return files
}

// readableVariants have every group between them.
func readableVariants() map[string]seccomp.Variant {
	return map[string]seccomp.Variant{
		"deny":  seccomp.Choose(policy.Policy{}, seccomp.Options{}),
		"allow": seccomp.Choose(policy.Policy{Network: policy.NetworkAllow}, seccomp.Options{Metadata: seccomp.Leave}),
		"ask":   seccomp.Choose(policy.Policy{}, seccomp.Options{Metadata: seccomp.Ask}),
	}
}
