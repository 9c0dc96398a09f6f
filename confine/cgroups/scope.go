package cgroups

import (
	"fmt"
	"path"
	"slices"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// scopeDir is the directory of a unit that a process is in. What the unit's
// manager says is not believed: another group is an error.
func scopeDir(mounts []hierarchy, own membership, unit string) (string, error) {
	i := slices.IndexFunc(mounts, func(h hierarchy) bool { return h.v2 })
	if i < 0 {
		return "", errNone
	}
	if path.Base(own[unified]) != unit {
		return "", fmt.Errorf("a process that was to be in %s is in the control group %q", unit, own[unified])
	}
	return mounts[i].at(own[unified])
}

// scopeHost is the Host of a scope whose own group has no members any more. It
// was given to us as a whole, so its controllers are ours to pass on.
func scopeHost(m machine, dir string) *Host {
	f := finder{m: m, handed: true, host: &Host{places: map[controller]place{}, why: map[controller]error{}, distant: true}}
	f.enable(dir)
	passed := f.passed(dir)
	f.take(place{dir, true}, passed)
	for _, c := range []controller{memory, pids, cpu, cpuacct, freezer} {
		if !slices.Contains(passed, string(c)) {
			f.host.why[c] = fmt.Errorf("the systemd user scope has no controller for it, only %q", passed)
		}
	}
	return f.host
}

// Lacks reports whether there is no place for a limit that was asked.
func (h *Host) Lacks(l policy.Limits) bool {
	return slices.ContainsFunc(wanted(l), func(w want) bool {
		_, found := h.places[w.controller]
		return w.asked != "" && !found
	})
}
