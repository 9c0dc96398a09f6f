package kerneltest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// OwnGroup is the directory of this process's group in the hierarchy of version
// 1 of that controller, where distributions mount it.
func OwnGroup(controller string) (string, error) {
	list, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(list)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		if path, found := strings.CutPrefix(rest, controller+":"); found {
			return filepath.Join("/sys/fs/cgroup", controller, path), nil
		}
	}
	return "", fmt.Errorf("/proc/self/cgroup has no controller %s", controller)
}

// makeGroups makes and removes a group of each controller.
func makeGroups(controllers ...string) error {
	for _, controller := range controllers {
		own, err := OwnGroup(controller)
		if err != nil {
			return err
		}
		if err := makeGroup(own); err != nil {
			return err
		}
	}
	return nil
}

// makeGroup looks at the file system first: elsewhere the directory would stay.
func makeGroup(parent string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(parent, &fs); err != nil {
		return fmt.Errorf("statfs %s: %w", parent, err)
	}
	if fs.Type != unix.CGROUP_SUPER_MAGIC && fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("%s has magic %#x", parent, fs.Type)
	}
	dir, err := os.MkdirTemp(parent, "kerneltest-")
	if err != nil {
		return err
	}
	return unix.Rmdir(dir)
}

// OwnUnified is the directory of this process's group of version 2, where that is
// the only version (mounted at /sys/fs/cgroup).
func OwnUnified() (string, error) {
	list, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	own, found := strings.CutPrefix(strings.TrimSpace(string(list)), "0::")
	if !found || strings.Contains(own, "\n") {
		return "", fmt.Errorf("/proc/self/cgroup is not of version 2 alone: %q", list)
	}
	return filepath.Join("/sys/fs/cgroup", own), nil
}

// makeUnified makes and removes a group beside this process's own, which can have
// limits of each of the controllers.
func makeUnified(controllers ...string) error {
	own, err := OwnUnified()
	if err != nil {
		return err
	}
	parent := filepath.Dir(own)
	var fs unix.Statfs_t
	if err := unix.Statfs(parent, &fs); err != nil || fs.Type != unix.CGROUP2_SUPER_MAGIC {
		return fmt.Errorf("%s has magic %#x: %w", parent, fs.Type, err)
	}
	passed, err := os.ReadFile(filepath.Join(parent, "cgroup.subtree_control"))
	if err != nil {
		return err
	}
	for _, controller := range controllers {
		if !slices.Contains(strings.Fields(string(passed)), controller) {
			return fmt.Errorf("%s does not pass %s on: %q", parent, controller, passed)
		}
	}
	dir, err := os.MkdirTemp(parent, "kerneltest-")
	if err != nil {
		return err
	}
	return unix.Rmdir(dir)
}

// GroupVersion is "v1" or "v2": of which version this process can make control
// groups with limits.
func GroupVersion() (string, error) {
	err := Cgroup1.check()
	if err == nil {
		return "v1", nil
	}
	if err2 := Cgroup2.check(); err2 != nil {
		return "", errors.Join(err, err2)
	}
	return "v2", nil
}

// GroupTitle is how a report names what holds the limits of that version.
func GroupTitle(version string) string {
	if version == "v2" {
		return "delegated control group v2"
	}
	return "control groups " + version
}

// GroupParent is where a group of that controller is made for this process's
// commands: with version 1 below its own group, with version 2 beside it, as a
// group that has processes cannot pass controllers on.
func GroupParent(controller string) (string, error) {
	if own, err := OwnUnified(); err == nil {
		return filepath.Dir(own), nil
	}
	return OwnGroup(controller)
}
