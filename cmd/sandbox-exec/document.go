package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/reportfile"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// document is the result of "run --json": schemas/result.schema.json says what
// each part means.
type document struct {
	Version    int         `json:"version"`
	Mode       policy.Mode `json:"mode"`
	Workspace  string      `json:"workspace"`
	Workdir    string      `json:"workdir"`
	Command    string      `json:"command"`
	Argv       []string    `json:"argv"`
	ExitStatus int         `json:"exitStatus"`
	// Exit is null where the command did not run, or its end is not known.
	Exit       *fact.Exit    `json:"exit"`
	DurationMS int64         `json:"durationMs"`
	TimeoutMS  int64         `json:"timeoutMs,omitempty"`
	Leftover   int           `json:"leftover"`
	Report     *fact.Report  `json:"report,omitempty"`
	Denied     bool          `json:"denied"`
	Denials    []fact.Denial `json:"denials"`
	Limits     []fact.Limit  `json:"limits"`
	Usage      *usage        `json:"usage,omitempty"`
	Stdout     stream        `json:"stdout"`
	Stderr     stream        `json:"stderr"`
	Scrubbed   []string      `json:"scrubbed"`
	Warnings   []string      `json:"warnings"`
	Error      *failure      `json:"error,omitempty"`
}

type stream struct {
	Bytes int64 `json:"bytes"`
}

// failure is why a command did not run.
type failure struct {
	Stage  string `json:"stage"`
	Errno  string `json:"errno,omitempty"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

const documentVersion = 1

func describe(spec executor.Spec, r executor.Result, status int, err error) document {
	d := document{
		Version: documentVersion, Mode: spec.Policy.Mode, Workspace: spec.Policy.Workspace,
		Workdir: spec.Dir, Command: spec.Command, Argv: list(spec.Argv), ExitStatus: status,
		DurationMS: r.Duration.Milliseconds(), TimeoutMS: spec.Timeout.Milliseconds(),
		Leftover: r.Leftover, Denied: r.Denied, Denials: list(r.Denials), Limits: list(r.Limits), Scrubbed: list(spec.Scrubbed), Warnings: list(slices.Concat(spec.Warnings, r.Warnings)),
		Stdout: stream{r.Stdout.Bytes}, Stderr: stream{r.Stderr.Bytes},
	}
	if err != nil {
		d.Error, d.Report = explainFailure(err)
		if unknownEnd(err) {
			d.Report = &r.Report
		}
		return d
	}
	d.Exit, d.Report, d.Usage = &r.Exit, &r.Report, usageOf(r.Usage)
	return d
}

// list makes an empty list of a nil one: null would be a third case for every
// reader.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func explainFailure(err error) (*failure, *fact.Report) {
	f := &failure{Stage: "start", Detail: plain(err), Hint: hint(err)}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = executor.ErrnoName(errno)
	}
	var unavailable *executor.UnavailableError
	var input *policy.InputError
	var start *executor.StartError
	switch {
	case errors.As(err, &unavailable):
		f.Stage, f.Detail = unavailable.Stage, unavailable.Detail
		return f, unavailable.Report
	case errors.As(err, &input):
		f.Stage = "input"
	case errors.As(err, &start):
		f.Stage = "exec"
	case unknownEnd(err):
		f.Stage = "end"
	}
	return f, nil
}

// documentFile is where the document goes; nil for nowhere.
type documentFile struct {
	w    io.Writer
	file *os.File // w, where it is a regular file of ours
}

// openDocument opens the place that --json names before any command can run.
func openDocument(name string, stdout io.Writer) (*documentFile, error) {
	switch {
	case name == "":
		return nil, nil // also where it was given so, which is refused
	case name == "-":
		return &documentFile{w: stdout}, nil
	case strings.HasPrefix(name, "fd:"):
		file, err := descriptor(name)
		return &documentFile{w: file}, err
	}
	file, err := reportfile.Open(name)
	return &documentFile{w: file, file: file}, err
}

// descriptor is the file of "fd:N".
func descriptor(name string) (*os.File, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, "fd:"), 10, 16)
	if err == nil {
		var file *os.File
		if file, err = reportfile.Inherited(int(n)); err == nil {
			return file, nil
		}
	}
	return nil, &policy.InputError{What: "json", Value: name, Want: "expected the number of a descriptor that this program was started with and can write, as in fd:3", Err: err}
}

// write writes the document as one line. A file that held something longer is
// cut; the command may have written to it as well.
func (f *documentFile) write(d document) error {
	if f == nil {
		return nil
	}
	body, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if f.file != nil {
		if err := f.file.Truncate(0); err != nil {
			return fmt.Errorf("write the result: %w", err)
		}
	}
	if _, err := f.w.Write(append(body, '\n')); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	if f.file != nil {
		return f.file.Close()
	}
	return nil
}
