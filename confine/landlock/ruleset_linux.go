package landlock

import (
	"errors"
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/nofollow"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Made is a ruleset and what was opened for it. The caller closes it.
type Made struct {
	Ruleset *os.File
	Kernel  Kernel
	// Roots are the files of the rules that mark a root, opened with O_PATH: what
	// the rules hold, whatever their paths lead to later.
	Roots []*os.File
}

// Close closes the files.
func (m *Made) Close() {
	m.Ruleset.Close()
	for _, root := range m.Roots {
		root.Close()
	}
}

// Ruleset makes the ruleset for the rules and the network on the running kernel.
// The error is an *UnavailableError where Landlock cannot be used at all.
func Ruleset(rules []Rule, network policy.Network) (*Made, error) {
	fd, kernel, err := create(network)
	if err != nil {
		return nil, err
	}
	m := &Made{Ruleset: os.NewFile(uintptr(fd), "landlock ruleset"), Kernel: kernel}
	for _, rule := range rules {
		if err := m.add(fd, rule); err != nil {
			m.Close()
			return nil, err
		}
	}
	return m, nil
}

func create(network policy.Network) (int, Kernel, error) {
	announced, err := ll.LandlockGetABIVersion()
	if err != nil {
		return -1, Kernel{}, unavailable("ask for the Landlock version", err, look())
	}
	fd, abi, err := stepDown(announced, func(abi int) (int, error) {
		a := attr(abi, network)
		return ll.LandlockCreateRuleset(&a, 0)
	})
	if err != nil {
		return -1, Kernel{}, unavailable(fmt.Sprintf("create a ruleset (the kernel announces ABI %d)", announced), err, look())
	}
	errata, err := ll.LandlockGetErrata()
	if err != nil || errata < 0 {
		errata = 0
	}
	return fd, Kernel{ABI: abi, Errata: errata}, nil
}

// add opens the rule's path without following any symlink, because a path
// that was canonical a moment ago may have been exchanged, and looks at what
// it opened before it says which rights can lie there.
func (m *Made) add(ruleset int, rule Rule) error {
	file, err := nofollow.Open(rule.Path, unix.O_PATH, 0)
	if rule.MayVanish && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ELOOP)) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s for a Landlock rule: %w", rule.Path, err)
	}
	if rule.Root {
		m.Roots = append(m.Roots, file)
	} else {
		defer file.Close()
	}
	access, err := narrow(file, rule.Access&HandledFS(m.Kernel.ABI))
	if err != nil || access == 0 {
		return err
	}
	err = ll.LandlockAddPathBeneathRule(ruleset, &ll.PathBeneathAttr{
		AllowedAccess: uint64(access),
		ParentFd:      int(file.Fd()),
	}, 0)
	if err != nil {
		return Refused("add a Landlock rule for "+rule.Path, err)
	}
	return nil
}

func narrow(file *os.File, access Access) (Access, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return 0, fmt.Errorf("look at %s for a Landlock rule: %w", file.Name(), err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= fileRights
	}
	return access, nil
}
