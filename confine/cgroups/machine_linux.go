package cgroups

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// Find looks where this process can make groups: below the directory parent,
// which was handed over, or where that is empty below its own groups. It makes
// none. The error says why parent cannot be used; without one a Host is returned
// also where no group can be made, and New tells why.
func Find(parent string) (*Host, error) {
	mounts, err := hierarchies()
	if err != nil {
		return nil, fmt.Errorf("list the control group file systems: %w", err)
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, fmt.Errorf("read our own control groups: %w", err)
	}
	if parent != "" {
		if !path.IsAbs(parent) {
			return nil, errors.New("expected an absolute path")
		}
		if parent, err = filepath.EvalSymlinks(parent); err != nil {
			return nil, err
		}
	}
	return find(kernel{}, mounts, parseMembership(string(own)), parent)
}

// hierarchies lists the mounted ones. Of several mounts of one the first counts.
func hierarchies() ([]hierarchy, error) {
	infos, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return nil, err
	}
	var list []hierarchy
	for _, info := range infos {
		list = append(list, hierarchy{
			point: info.Mountpoint, root: info.Root, v2: info.FSType == "cgroup2",
			controllers: strings.Split(info.VFSOptions, ","),
		})
	}
	return list, nil
}

// maxPath bounds what a group's paths, of which there may be five, come to in one
// message of the keeper's protocol, in bytes.
const maxPath = 800

// kernel is the machine that this process runs on.
type kernel struct{}

// usable asks for the file system's magic first: what lies below a mount point
// can be another file system, and a directory made there would stay as litter.
func (kernel) usable(dir string) error {
	if len(dir) > maxPath {
		return fmt.Errorf("the path of the group is %d bytes long, and %d are taken", len(dir), maxPath)
	}
	if err := checkMagic(dir); err != nil {
		return err
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("make a group below %s: %w", dir, err)
	}
	return nil
}

func (kernel) writable(file string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, file, unix.W_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// checkMagic comes before every write (linux/magic.h).
func checkMagic(dir string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return fmt.Errorf("look at %s: %w", dir, err)
	}
	if fs.Type != unix.CGROUP_SUPER_MAGIC && fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("%s is no directory of a control group file system (magic %#x)", dir, fs.Type)
	}
	return nil
}

func (kernel) read(file string) (string, error) { return readFile(file) }

func (kernel) enable(dir string, c controller) error {
	if err := checkMagic(dir); err != nil {
		return err
	}
	return writeFile(path.Join(dir, "cgroup.subtree_control"), "+"+string(c))
}

// managed: where systemd runs it owns the tree, but for what it delegated to its
// users' managers and to units that asked, and marked so (systemd.resource-control(5),
// Delegate=).
func (kernel) managed(dir string) bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil && !handedDown(dir, delegated)
}

// handedDown looks for the mark at the group and above it. What a user's manager
// was given it owns in turn, so its own mark does not count.
func handedDown(dir string, delegated func(string) bool) bool {
	for ; dir != "/" && !strings.HasPrefix(path.Base(dir), "user@"); dir = path.Dir(dir) {
		if delegated(dir) {
			return true
		}
	}
	return false
}

func delegated(dir string) bool {
	for _, name := range []string{"user.delegate", "trusted.delegate"} {
		value := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, value); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

func readFile(file string) (string, error) {
	text, err := os.ReadFile(file)
	return strings.TrimSuffix(string(text), "\n"), err
}

// writeFile never creates a file.
func writeFile(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
