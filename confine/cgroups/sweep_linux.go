package cgroups

import (
	"errors"
	"os"
	"path"
	"slices"
	"time"
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

// left finds those groups. The parts of one have the same name everywhere.
func (h *Host) left(dead func(name string) bool) map[string]*Group {
	groups := map[string]*Group{}
	for c, p := range h.places {
		if checkMagic(p.dir) != nil {
			continue
		}
		entries, err := os.ReadDir(p.dir)
		if err != nil {
			continue
		}
		for _, entry := range entries {
			if entry.IsDir() && dead(entry.Name()) {
				groups[entry.Name()] = groups[entry.Name()].with(c, path.Join(p.dir, entry.Name()), p.v2)
			}
		}
	}
	return groups
}

// with is the group with another part; a nil group is none yet.
func (g *Group) with(c controller, dir string, v2 bool) *Group {
	if g == nil {
		g = &Group{parts: map[controller]string{}, v2: map[controller]bool{}}
	}
	if !slices.Contains(g.dirs, dir) {
		g.dirs = append(g.dirs, dir)
	}
	g.parts[c], g.v2[c] = dir, v2
	return g
}
