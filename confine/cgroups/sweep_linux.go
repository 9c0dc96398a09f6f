package cgroups

import (
	"errors"
	"os"
	"path"
	"slices"
	"time"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// sweepPatience bounds what the dead cost the living.
const sweepPatience = time.Second

// Sweep kills and removes the groups whose names dead accepts. What cannot be
// removed, or not in a second, is left to the next one; the error says what.
func (h *Host) Sweep(dead func(name string) bool) error {
	var errs []error
	end := time.Now().Add(sweepPatience)
	for _, g := range h.left(dead) {
		_, err := g.Kill(time.Until(end))
		errs = append(errs, err, g.Delete(time.Until(end)))
	}
	return errors.Join(errs...)
}

// left finds those groups. The parts of one have the same name everywhere, and
// the one that is made first is removed last: there it is looked for, and among
// the processes, for the case that the first could not be made.
func (h *Host) left(dead func(name string) bool) map[string]*Group {
	groups := map[string]*Group{}
	for _, dir := range h.first() {
		entries, err := os.ReadDir(dir)
		if err != nil || checkMagic(dir) != nil {
			continue
		}
		for _, entry := range entries {
			if name := entry.Name(); entry.IsDir() && groups[name] == nil && dead(name) {
				groups[name] = h.found(name)
			}
		}
	}
	return groups
}

func (h *Host) first() []string {
	var dirs []string
	for _, want := range wanted(policy.Limits{}) {
		if p, have := h.places[want.controller]; have && (len(dirs) == 0 || want.controller == pids) {
			dirs = append(dirs, p.dir)
		}
	}
	return slices.Compact(dirs)
}

// found is the group of that name, of all parts that there are, in the order in
// which New makes them.
func (h *Host) found(name string) *Group {
	g := &Group{parts: map[controller]string{}, v2: map[controller]bool{}}
	for _, want := range wanted(policy.Limits{Memory: 1, CPUs: 1}) {
		c := want.controller
		p, have := h.places[c]
		dir := path.Join(p.dir, name)
		if _, err := os.Lstat(dir); !have || err != nil || checkMagic(dir) != nil {
			continue
		}
		g.parts[c], g.v2[c] = dir, p.v2
		if !slices.Contains(g.dirs, dir) {
			g.dirs = append(g.dirs, dir)
		}
	}
	return g
}
