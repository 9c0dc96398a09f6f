package policy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits is how much a command and all that it starts may use. The zero value
// asks for nothing: the default process limit then holds where it can.
//
// What is asked must be held, or the command does not run.
type Limits struct {
	// Memory bounds what all processes of the command use together, page cache
	// included, in bytes. Swap is not added to it. Zero is no limit; the least is
	// MinMemory.
	Memory Size
	// Processes bounds processes and threads together, as the kernel counts them
	// (pids.max). Zero is DefaultProcesses where a control group can be had, and
	// no limit elsewhere; the least is MinProcesses.
	Processes int
	// CPUs bounds the processor time, in processors: 0.5 is half of one. Zero is
	// no limit; the least is MinCPUs.
	CPUs float64
	// OpenFiles bounds the descriptors of each process (RLIMIT_NOFILE). Zero is
	// the caller's own limit.
	OpenFiles int
	// FileSize bounds each file that is written, in bytes (RLIMIT_FSIZE): who
	// writes more gets SIGXFSZ. Zero is the caller's own limit.
	FileSize Size
}

const (
	// DefaultProcesses is the process limit of a command that names none: enough
	// for any build, and it bounds what has to be killed.
	DefaultProcesses = 4096
	// MinProcesses leaves room for the threads of the helper, which becomes the
	// command: a Go program starts up to ten on its own.
	MinProcesses = 16
	// MinMemory is less than the helper touches.
	MinMemory Size = 1 << 20
	// MinCPUs is the kernel's own: a quota of a millisecond in a tenth of a second
	// (kernel/sched/core.c, min_cfs_quota_period).
	MinCPUs = 0.01

	// maxCPUs and maxCount keep what is computed from a limit within its type.
	maxCPUs  = 1 << 20
	maxCount = 1 << 22 // PID_MAX_LIMIT of the kernel
	maxFiles = 1 << 30
	maxSize  = math.MaxInt64
)

// ProcessLimit is Processes, or what stands for its zero value.
func (l Limits) ProcessLimit() int {
	if l.Processes == 0 {
		return DefaultProcesses
	}
	return l.Processes
}

// Validate checks each limit. The error is an *InputError.
func (l Limits) Validate() error {
	switch {
	case l.Memory != 0 && l.Memory < MinMemory, l.Memory > maxSize:
		return &InputError{What: "memory limit", Value: l.Memory.String(), Want: wantMemory}
	case l.Processes != 0 && l.Processes < MinProcesses, l.Processes > maxCount:
		return &InputError{What: "process limit", Value: strconv.Itoa(l.Processes), Want: wantProcesses}
	case l.CPUs != 0 && (math.IsNaN(l.CPUs) || l.CPUs < MinCPUs || l.CPUs > maxCPUs):
		return &InputError{What: "cpu limit", Value: formatCPUs(l.CPUs), Want: wantCPUs}
	case l.OpenFiles < 0, l.OpenFiles > maxFiles:
		return &InputError{What: "open file limit", Value: strconv.Itoa(l.OpenFiles), Want: wantFiles}
	case l.FileSize > maxSize:
		return &InputError{What: "file size limit", Value: l.FileSize.String(), Want: wantSize}
	}
	return nil
}

// What is accepted, in words.
var (
	wantSize      = "expected a size such as 512MiB, 1GiB, 48M or a number of bytes"
	wantMemory    = wantSize + ", at least " + MinMemory.String()
	wantProcesses = fmt.Sprintf("expected a whole number from %d to %d; threads count, the helper's own among them", MinProcesses, maxCount)
	wantCPUs      = fmt.Sprintf("expected a number of processors such as 0.5 or 2, from %s to %d", formatCPUs(MinCPUs), maxCPUs)
	wantFiles     = fmt.Sprintf("expected a whole number from 1 to %d", maxFiles)
)

// String lists what is asked, such as "memory 512MiB, 20 processes"; empty where
// nothing is.
func (l Limits) String() string {
	return strings.Join(append(l.InGroup(), l.Each()...), ", ")
}

// InGroup lists what is asked that only a control group can hold.
func (l Limits) InGroup() []string {
	var list []string
	if l.Memory != 0 {
		list = append(list, "memory "+l.Memory.String())
	}
	if l.Processes != 0 {
		list = append(list, fmt.Sprintf("%d processes", l.Processes))
	}
	if l.CPUs != 0 {
		list = append(list, formatCPUs(l.CPUs)+" processors")
	}
	return list
}

// Each lists what is asked of each process.
func (l Limits) Each() []string {
	var list []string
	if l.OpenFiles != 0 {
		list = append(list, fmt.Sprintf("%d open files", l.OpenFiles))
	}
	if l.FileSize != 0 {
		list = append(list, "files of "+l.FileSize.String())
	}
	return list
}

// Size is a number of bytes.
type Size uint64

var sizeUnits = []struct {
	suffix string
	bytes  Size
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"G", 1 << 30}, {"M", 1 << 20}, {"K", 1 << 10}, {"B", 1}, {"", 1}}

// String is the size in the largest of KiB, MiB and GiB that divides it, or in
// bytes where none does. ParseSize takes it.
func (s Size) String() string {
	for _, u := range sizeUnits {
		if len(u.suffix) == len("GiB") && s >= u.bytes && s%u.bytes == 0 {
			return fmt.Sprintf("%d%s", s/u.bytes, u.suffix)
		}
	}
	return fmt.Sprintf("%dB", uint64(s))
}

// ParseSize reads a positive size such as 512MiB, 48M, 1GiB or 4096. A K is 1024
// bytes, as in KiB. The error is an *InputError about the thing that what names.
func ParseSize(what, text string) (Size, error) {
	bad := &InputError{What: what, Value: text, Want: wantSize}
	for _, u := range sizeUnits {
		digits, found := strings.CutSuffix(text, u.suffix)
		if !found {
			continue
		}
		n, err := parseDigits(digits)
		if err != nil || n == 0 || n > maxSize/uint64(u.bytes) {
			return 0, bad
		}
		return Size(n) * u.bytes, nil
	}
	return 0, bad
}

// ParseProcesses reads a process limit. The error is an *InputError.
func ParseProcesses(what, text string) (int, error) {
	n, err := parseDigits(text)
	if err != nil || n < MinProcesses || n > maxCount {
		return 0, &InputError{What: what, Value: text, Want: wantProcesses}
	}
	return int(n), nil
}

// ParseOpenFiles reads a limit on open files. The error is an *InputError.
func ParseOpenFiles(what, text string) (int, error) {
	n, err := parseDigits(text)
	if err != nil || n == 0 || n > maxFiles {
		return 0, &InputError{What: what, Value: text, Want: wantFiles}
	}
	return int(n), nil
}

// ParseMemory reads a memory limit. The error is an *InputError.
func ParseMemory(what, text string) (Size, error) {
	size, err := ParseSize(what, text)
	if err != nil || size < MinMemory {
		return 0, &InputError{What: what, Value: text, Want: wantMemory}
	}
	return size, nil
}

// ParseCPUs reads a number of processors. The error is an *InputError.
func ParseCPUs(what, text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	plain := strings.Trim(text, "0123456789.") == ""
	if err != nil || !plain || n < MinCPUs || n > maxCPUs {
		return 0, &InputError{What: what, Value: text, Want: wantCPUs}
	}
	return n, nil
}

// parseDigits takes digits alone: no sign, no underscore, no base.
func parseDigits(text string) (uint64, error) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(text, 10, 64)
}

func formatCPUs(n float64) string { return strconv.FormatFloat(n, 'g', -1, 64) }
