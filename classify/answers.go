package classify

import (
	"errors"
	"io/fs"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// answers keeps what Files has said in one run: a command that prints one line
// a thousand times costs the questions of one.
type answers struct {
	files     Files
	programs  map[string]bool
	granted   map[question]bool
	permitted map[question]permission
}

type question struct {
	path string
	op   fact.Op
}

// permission is what ordinary permissions say.
type permission uint8

const (
	refused permission = iota
	allowed
	unknown
)

func newAnswers(files Files) answers {
	return answers{
		files:     files,
		programs:  map[string]bool{},
		granted:   map[question]bool{},
		permitted: map[question]permission{},
	}
}

// isProgram is Files.Program with a bound. A name beyond it is none: then the
// line is nobody's.
func (a answers) isProgram(name string) bool {
	known, seen := a.programs[name]
	if !seen && name != "" && len(a.programs) < maxNames {
		known = a.files.Program(name)
		a.programs[name] = known
	}
	return known
}

func (a answers) grants(path string, op fact.Op) bool {
	q := question{path, op}
	known, seen := a.granted[q]
	if !seen {
		known = a.files.Granted(path, op)
		a.granted[q] = known
	}
	return known
}

func (a answers) permits(path string, op fact.Op) permission {
	q := question{path, op}
	known, seen := a.permitted[q]
	if !seen {
		known = permissionOf(a.files.Permitted(path, op))
		a.permitted[q] = known
	}
	return known
}

func permissionOf(ok bool, err error) permission {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return refused
	case err != nil:
		return unknown
	case ok:
		return allowed
	}
	return refused
}
