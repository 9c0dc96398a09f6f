package cgroups

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// setting is one file of a group and what must then be read from it.
type setting struct {
	file, value string
	// want is what is read back; empty is value.
	want string
	// swap says that the file is missing where the kernel does not count swap. The
	// limit then holds only where there is none.
	swap bool
}

// set sets the limit of a controller, and reads it back: what stands before the
// kernel may answer a write that it did not let through.
func (g *Group) set(c controller) error {
	for _, s := range g.settings(c) {
		file := path.Join(g.parts[c], s.file)
		err := writeFile(file, s.value)
		if os.IsNotExist(err) && s.swap {
			if err := uncounted(s.file, swapSize()); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		got, err := readFile(file)
		if err != nil {
			return err
		}
		if want := cmp.Or(s.want, s.value); got != want {
			return fmt.Errorf("%s: wrote %s and read %s, wanted %s: %w", file, s.value, got, want, unix.EPROTO)
		}
	}
	return nil
}

// uncounted is why a memory limit does not hold where swap is not counted: what
// is over the limit would be swapped out, without end.
func uncounted(missing string, swap uint64) error {
	if swap == 0 {
		return nil
	}
	return fmt.Errorf("the kernel does not count swap here (no %s), and the machine has some: the limit would not hold: %w", missing, unix.EOPNOTSUPP)
}

// swapSize is the machine's swap, as /proc/swaps lists it, in the kernel's units;
// not zero where it is not known. What is added later is not seen.
func swapSize() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 1
	}
	return uint64(info.Totalswap)
}

// cpuPeriod is the kernel's default, in microseconds.
const cpuPeriod = 100_000

// settings are the files that a controller's limit is written to, in order.
// There is no memory.oom.group among them: a child that is killed for memory
// must not take the shell with it.
func (g *Group) settings(c controller) []setting {
	v2 := g.v2[c]
	switch {
	case c == pids:
		return []setting{{file: "pids.max", value: strconv.Itoa(g.limits.ProcessLimit())}}
	case c == memory && v2:
		bytes, pages := g.memory()
		return []setting{{file: "memory.max", value: bytes, want: pages}, {file: "memory.swap.max", value: "0", swap: true}}
	case c == memory:
		// memory and swap together cannot be less than memory, so it comes second.
		bytes, pages := g.memory()
		return []setting{
			{file: "memory.limit_in_bytes", value: bytes, want: pages},
			{file: "memory.memsw.limit_in_bytes", value: bytes, want: pages, swap: true},
		}
	case c == cpu && v2:
		return []setting{{file: "cpu.max", value: fmt.Sprintf("%d %d", g.quota(), cpuPeriod)}}
	case c == cpu:
		return []setting{
			{file: "cpu.cfs_period_us", value: strconv.Itoa(cpuPeriod)},
			{file: "cpu.cfs_quota_us", value: strconv.FormatInt(g.quota(), 10)},
		}
	}
	return nil
}

// memory is the limit as it is written and as it is read: in whole pages.
func (g *Group) memory() (bytes, pages string) {
	size, page := uint64(g.limits.Memory), uint64(os.Getpagesize())
	return strconv.FormatUint(size, 10), strconv.FormatUint(size-size%page, 10)
}

func (g *Group) quota() int64 { return int64(g.limits.CPUs * cpuPeriod) }

// counters reads a file of lines "key value"; empty where it cannot be read.
func (g *Group) counters(c controller, file string) map[string]uint64 {
	text, _ := g.read(c, file)
	return parseCounters(text)
}

func parseCounters(text string) map[string]uint64 {
	counts := map[string]uint64{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			counts[key] = n
		}
	}
	return counts
}

// number reads a file that holds one number; zero where it cannot be read.
func (g *Group) number(c controller, file string) uint64 {
	text, _ := g.read(c, file)
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

func (g *Group) read(c controller, file string) (string, error) {
	dir := g.parts[c]
	if dir == "" {
		return "", os.ErrNotExist
	}
	return readFile(path.Join(dir, file))
}
