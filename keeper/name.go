package keeper

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// Name names what a run leaves on the machine, such as a scratch directory, so
// that what a dead owner left can be told from what a live one uses.
type Name struct {
	Boot      string // the start of the kernel's boot id
	Namespace uint64 // which pid and time namespaces the owner's numbers are of
	PID       uint64 // the owner
	Start     uint64 // when it started, in clock ticks after boot (proc(5), field 22)
	Serial    string // tells one owner's names apart
}

// NewName returns a new name for something of this process.
func NewName() (Name, error) {
	n := Name{Serial: serial()}
	self, err := os.Readlink("/proc/self") // our number as /proc knows it
	if err != nil {
		return n, err
	}
	if n.PID, err = strconv.ParseUint(self, 10, 64); err != nil {
		return n, fmt.Errorf("read our number from /proc/self: %w", err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return n, err
	}
	if len(boot) < 8 {
		return n, fmt.Errorf("read the boot id: got %d bytes", len(boot))
	}
	n.Boot = string(boot[:8])
	if n.Namespace, err = namespaces(); err != nil {
		return n, err
	}
	n.Start, err = startTime(n.PID)
	return n, err
}

// initialTime is the inode of the time namespace that a machine starts with
// (include/linux/proc_ns.h, PROC_TIME_INIT_INO).
const initialTime = 0xeffffffa

// namespaces tells by the lower half in which pid namespace a process's number is,
// and by the upper in which time namespace its start: zero is the machine's.
func namespaces() (uint64, error) {
	pid, err := namespace("pid")
	if err != nil {
		return 0, err
	}
	clock, err := namespace("time")
	if errors.Is(err, fs.ErrNotExist) { // before Linux 5.6
		return pid, nil
	}
	return pid | (clock^initialTime)<<32, err
}

// namespace is the inode of one of this process's namespaces.
func namespace(kind string) (inode uint64, err error) {
	text, err := os.Readlink("/proc/self/ns/" + kind)
	if err != nil {
		return 0, err
	}
	if _, err := fmt.Sscanf(text, kind+":[%d]", &inode); err != nil {
		return 0, fmt.Errorf("read the %s namespace %q: %w", kind, text, err)
	}
	return inode, nil
}

// Next is another name of the same owner.
func (n Name) Next() Name {
	n.Serial = serial()
	return n
}

func serial() string { return strings.ToLower(rand.Text()[:8]) }

// base keeps names short: a socket's path has 108 bytes, and much of it is
// needed below a scratch directory.
const base = 36

// String is the form that ParseName reads.
func (n Name) String() string {
	return strings.Join([]string{
		n.Boot, strconv.FormatUint(n.Namespace, base), strconv.FormatUint(n.PID, base),
		strconv.FormatUint(n.Start, base), n.Serial,
	}, "-")
}

// ParseName reads a name; false where s is none.
func ParseName(s string) (Name, bool) {
	parts := strings.Split(s, "-")
	if len(parts) != 5 || len(parts[0]) != 8 || parts[4] == "" {
		return Name{}, false
	}
	n := Name{Boot: parts[0], Serial: parts[4]}
	for i, field := range []*uint64{&n.Namespace, &n.PID, &n.Start} {
		v, err := strconv.ParseUint(parts[i+1], base, 64)
		if err != nil {
			return Name{}, false
		}
		*field = v
	}
	return n, true
}

// Dead reports whether the owner of n is known to have ended. An owner of
// another boot, pid or time namespace than self's is not known: its machine or
// container may share the directory and live.
func (n Name) Dead(self Name) bool {
	if n.Boot != self.Boot || n.Namespace != self.Namespace {
		return false
	}
	fields, err := statFields(n.PID)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	return fields[19] != strconv.FormatUint(n.Start, 10) || ended(fields)
}

// ended is true for a zombie: nobody may ever reap a killed owner. One whose other
// threads live is not.
func ended(fields []string) bool { return fields[0] == "Z" && (fields[17] == "0" || fields[17] == "1") }

// startTime is field 22 of /proc/PID/stat.
func startTime(pid uint64) (uint64, error) {
	fields, err := statFields(pid)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(fields[19], 10, 64)
}

// statFields are the fields of /proc/PID/stat from the third to the 52nd. The
// second, the program's name in parentheses, may hold anything, so counting
// starts behind its end.
func statFields(pid uint64) ([]string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 50 {
		return nil, fmt.Errorf("read the state of process %d: got %d fields, wanted 50", pid, len(fields))
	}
	return fields[:50], nil
}
