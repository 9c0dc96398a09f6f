package kerneltest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// A Feature is something a test needs, spelled as in SANDBOX_REQUIRE: a name,
// or a name with a minimum level as in "landlock=6".
type Feature string

const (
	// Root means that the test runs as uid 0.
	Root Feature = "root"
	// OrdinaryUser means that the test runs as any other uid.
	OrdinaryUser Feature = "user"
	// Terminal means that a pseudo-terminal can be made and opened.
	Terminal Feature = "tty"
	// Broker means that a filter can have a listener that signals leave alone
	// (Linux 5.19).
	Broker Feature = "broker"
	// FUSE means that this process can open /dev/fuse.
	FUSE Feature = "fuse"
	// UserXattr means that files in the temporary directory can have attributes of
	// the user's (on tmpfs since Linux 6.6).
	UserXattr Feature = "xattr"
	// NoLandlock means that the kernel has no Landlock, or that it is off.
	NoLandlock Feature = "no-landlock"
	// CloseRange means that descriptors can be closed at execve all at once (Linux
	// 5.11). Without it no helper becomes a command.
	CloseRange Feature = "close-range"
	// Capped means that UnderLandlock works on this architecture.
	Capped Feature = "capped"
	// Cgroup1 means that this process can make groups of version 1 for memory and
	// for processes, below its own.
	Cgroup1 Feature = "cgroup1"
	// Hybrid is Cgroup1, with version 2 mounted beside it where systemd does that.
	Hybrid Feature = "hybrid"
	// Cgroups is either of Cgroup1 and Cgroup2.
	Cgroups Feature = "cgroups"
	// Cgroup2 means that this process is in a group of version 2 beside which it
	// can make groups with limits.
	Cgroup2 Feature = "cgroup2"
	// UserScope means that this process is in no control group that was delegated,
	// and that this user's systemd makes scopes that are, with controllers for memory
	// and processes.
	UserScope Feature = "user-scope"
)

const landlockName = "landlock"

// Landlock means that a ruleset can be created and that the kernel reports at
// least this ABI (1 is the first; Linux 5.13).
func Landlock(minABI int) Feature {
	return Feature(fmt.Sprintf("%s=%d", landlockName, minABI))
}

// Program means that the program is found in PATH. The names of the other
// features are not program names here.
func Program(name string) Feature {
	return Feature(name)
}

// Present sorts features into those this process has and those it lacks.
func Present(features ...Feature) (have, missing []Feature) {
	for _, f := range features {
		if f.check() != nil {
			missing = append(missing, f)
			continue
		}
		have = append(have, f)
	}
	return have, missing
}

// check returns nil where the feature is present, else what was found instead.
func (f Feature) check() error {
	name, level, err := f.split()
	if err != nil {
		return err
	}
	switch Feature(name) {
	case landlockName:
		return checkLandlock(level)
	case Root:
		return checkUID(os.Getuid() == 0)
	case OrdinaryUser:
		return checkUID(os.Getuid() != 0)
	case Terminal:
		return openTerminal()
	case Broker:
		return askListener()
	case FUSE:
		return openDevice("/dev/fuse")
	case UserXattr:
		return setUserXattr()
	case NoLandlock:
		return lackLandlock()
	case CloseRange:
		return markRange()
	case Capped:
		return canCap()
	case Cgroup1:
		return makeGroups("memory", "pids")
	case Hybrid:
		return errors.Join(Cgroup1.check(), makeGroup("/sys/fs/cgroup/unified"))
	case Cgroups:
		_, err := GroupVersion()
		return err
	case Cgroup2:
		return makeUnified("memory", "pids", "cpu")
	case UserScope:
		return makeScope()
	}
	_, err = exec.LookPath(name)
	return err
}

// split returns the feature's name and its level, 0 for one without levels.
func (f Feature) split() (name string, level int, err error) {
	name, text, leveled := strings.Cut(string(f), "=")
	if leveled != (name == landlockName) || name == "" {
		return "", 0, fmt.Errorf("feature %q: want NAME, or %s=ABI", f, landlockName)
	}
	if !leveled {
		return name, 0, nil
	}
	level, err = strconv.Atoi(text)
	if err != nil || level < 1 {
		return "", 0, fmt.Errorf("feature %q: want a level of 1 or more, got %q", f, text)
	}
	return name, level, nil
}

func checkLandlock(minABI int) error {
	abi, err := LandlockABI()
	if err != nil {
		return err
	}
	if abi < minABI {
		return fmt.Errorf("this kernel has Landlock ABI %d", abi)
	}
	return nil
}

func checkUID(ok bool) error {
	if ok {
		return nil
	}
	return fmt.Errorf("this process has uid %d", os.Getuid())
}
