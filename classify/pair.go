package classify

import "github.com/sandbox-exec/sandbox-exec/fact"

const rulePair = "between places with different rights"

// pair judges something that was to go from one path to another.
func (j judge) pair(c claim) []ruling {
	from, to := c.paths[0], c.paths[1]
	if c.family == crossDevice {
		return j.crossing(c.op, from, to)
	}
	switch c.op {
	case fact.OpLink, fact.OpCreate, fact.OpDelete:
		// A hard link's target is only read, and a symlink's is only text.
		return []ruling{j.single(to, c.op)}
	case fact.OpRename:
		return j.rename(from, to)
	case fact.OpWrite:
		return []ruling{j.single(from, fact.OpRead), j.single(to, fact.OpWrite)}
	}
	return []ruling{j.untoldPair(from, to)}
}

// rename is nobody's denial unless ordinary permissions allow it at both ends.
func (j judge) rename(from, to string) []ruling {
	rulings := []ruling{j.single(from, fact.OpRename), j.single(to, fact.OpRename)}
	for _, r := range rulings {
		if r.verdict == notOurs && !j.mayMove(r.path) {
			return nil
		}
	}
	return rulings
}

// mayMove reports whether ordinary permissions do not rule out that path is
// renamed.
func (j judge) mayMove(path string) bool {
	return j.answers.permits(path, fact.OpRename) != refused
}

// untoldPair judges two paths without a word on what was tried. The second is
// what was to change; the first may be no more than a symlink's text.
func (j judge) untoldPair(from, to string) ruling {
	r := j.single(to, "")
	if r.verdict == notOurs {
		if !j.mayMove(r.path) {
			return r
		}
		return j.single(from, "")
	}
	source, state := j.places.find(from)
	if r.verdict == fact.Denied && (state != found || !j.mayMove(source)) {
		r.verdict, r.rule = fact.Possible, ""
	}
	return r
}

// crossing judges EXDEV. Landlock answers it where something would get other
// rights in its new place. Between two places that may both be written the
// file systems really differ.
func (j judge) crossing(op fact.Op, from, to string) []ruling {
	told := op == fact.OpLink || op == fact.OpRename
	if !told {
		op = fact.OpRename
	}
	source, sourceState := j.places.find(from)
	target, targetState := j.places.find(to)
	if sourceState == hidden || targetState == hidden {
		return nil
	}
	if sourceState != found || targetState != found {
		return []ruling{{verdict: fact.Possible, op: op, path: target}}
	}
	if !j.mayMove(target) || told && op == fact.OpRename && !j.mayMove(source) {
		return nil
	}
	var out []ruling
	for _, path := range []string{source, target} {
		if !j.answers.grants(path, fact.OpWrite) {
			out = append(out, ruling{verdict: fact.Denied, op: op, path: path, rule: rulePair})
		}
	}
	if !told && !j.mayMove(source) {
		// Only a link could have left the source where it is.
		for i := range out {
			out[i].verdict, out[i].rule = fact.Possible, ""
		}
	}
	return out
}
