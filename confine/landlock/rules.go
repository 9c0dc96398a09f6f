package landlock

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Rule grants rights at a path and, where that is a directory, beneath it.
type Rule struct {
	Path   string
	Access Access
	Why    string
	// Root marks a root of writing: Ruleset hands out what it opened there.
	Root bool
	// MayVanish marks an entry of a listing: it may be gone when it is opened,
	// and then needs no rule.
	MayVanish bool
}

// devices can be used by any command: they hold nothing of anybody's.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"}

// Rules returns the rules for a canonical policy and its scratch directory.
// root is the file system's root, such as os.DirFS("/"); only names and kinds
// are read from it. mounts are the mounts below it.
func Rules(p policy.Policy, scratch string, root fs.FS, mounts []policy.Mount) ([]Rule, error) {
	readable, err := readableRules(append(otherDevices(mounts), p.Unreadable...), root)
	if err != nil {
		return nil, err
	}
	deviceRules, err := deviceRules(p, root)
	if err != nil {
		return nil, err
	}
	rules := []Rule{{Path: "/", Access: List, Why: "names may be listed everywhere"}}
	rules = append(rules, readable...)
	rules = append(rules, deviceRules...)
	rules = append(rules, writeRules(p)...)
	if scratch != "" {
		rules = append(rules, Rule{Path: scratch, Access: Write, Why: "the scratch directory", Root: true})
	}
	return rules, nil
}

// otherDevices are the mounts of devices outside /dev, as a chroot has them:
// through one, another terminal could be read.
func otherDevices(mounts []policy.Mount) []string {
	var points []string
	for _, m := range mounts {
		if m.Devices() && !policy.Within("/dev", m.Point) {
			points = append(points, m.Point)
		}
	}
	return points
}

func writeRules(p policy.Policy) []Rule {
	var rules []Rule
	for _, root := range p.Roots() {
		rules = append(rules, Rule{Path: root, Access: Write, Why: "a writable root", Root: true})
	}
	return rules
}

// readableRules grants every child of the root by itself and not the root:
// a grant cannot be taken back further down, and /dev must stay out.
func readableRules(unreadable []string, root fs.FS) ([]Rule, error) {
	for _, hidden := range unreadable {
		if hidden != "/proc" && policy.Within("/proc", hidden) {
			return nil, fmt.Errorf("unreadable path %q: below /proc entries come and go, so their neighbours cannot be granted", hidden)
		}
	}
	return beneath("/", append([]string{"/dev"}, unreadable...), root)
}

// readable grants path, or what is beneath it where something there is hidden.
func readable(dir string, hidden []string, root fs.FS) ([]Rule, error) {
	if slices.ContainsFunc(hidden, func(h string) bool { return policy.Within(h, dir) }) {
		return nil, nil
	}
	if slices.ContainsFunc(hidden, func(h string) bool { return policy.Within(dir, h) }) {
		return beneath(dir, hidden, root)
	}
	return []Rule{{Path: dir, Access: Read, Why: "reading is open", MayVanish: true}}, nil
}

// beneath grants the entries of a directory one by one. A symlink needs no
// rule: what it leads to has its own.
func beneath(dir string, hidden []string, root fs.FS) ([]Rule, error) {
	entries, err := fs.ReadDir(root, name(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s, to grant what lies beside the unreadable paths: %w", dir, err)
	}
	var rules []Rule
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink != 0 {
			continue
		}
		more, err := readable(path.Join(dir, entry.Name()), hidden, root)
		if err != nil {
			return nil, err
		}
		rules = append(rules, more...)
	}
	return rules, nil
}

// deviceRules grants the devices, without those that are to be unreadable.
// That a device is asked for and unreadable at once is refused by the policy.
func deviceRules(p policy.Policy, root fs.FS) ([]Rule, error) {
	hidden := func(path string) bool {
		return slices.ContainsFunc(p.Unreadable, func(h string) bool { return policy.Within(h, path) })
	}
	var rules []Rule
	for _, device := range devices {
		real, err := devicePath("/dev/"+device, root)
		if err != nil {
			return nil, err
		}
		if real != "" && !hidden(real) && !hidden("/dev/"+device) {
			rules = append(rules, Rule{Path: real, Access: Device, Why: "a device that holds nothing"})
		}
	}
	for _, device := range p.Devices {
		rules = append(rules, Rule{Path: device, Access: Device, Why: "a device that was asked for"})
	}
	if p.Terminals == policy.TerminalsHost {
		rules = append(rules, Rule{Path: "/dev/pts", Access: Device | List, Why: "the host's terminals were asked for"})
	}
	return rules, nil
}

// devicePath follows one symlink, because /dev/ptmx is often one to pts/ptmx;
// a device that is missing gives "".
func devicePath(device string, root fs.FS) (string, error) {
	info, err := fs.Lstat(root, name(device))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", device, err)
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return device, nil
	}
	target, err := fs.ReadLink(root, name(device))
	if err != nil {
		return "", fmt.Errorf("follow %s: %w", device, err)
	}
	if !path.IsAbs(target) {
		target = path.Join("/dev", target)
	}
	if !policy.Within("/dev", target) {
		return "", fmt.Errorf("follow %s: it leads to %s, expected a device below /dev", device, target)
	}
	return target, nil
}

// name is a path as io/fs writes it.
func name(abs string) string {
	if abs == "/" {
		return "."
	}
	return strings.TrimPrefix(abs, "/")
}

// Granted reports whether the rules together grant rights at path. Landlock
// adds up what is granted on the way from the root.
func Granted(rules []Rule, path string, want Access) bool {
	var got Access
	for _, rule := range rules {
		if policy.Within(rule.Path, path) {
			got |= rule.Access
		}
	}
	return got.Has(want)
}
