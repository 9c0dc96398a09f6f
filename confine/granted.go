package confine

import (
	"path"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
	"github.com/sandbox-exec/sandbox-exec/fact"
)

// rights says what each operation needs, and whether of the path itself or of
// the directory that holds it.
var rights = map[fact.Op]struct {
	access landlock.Access
	parent bool
}{
	fact.OpRead:     {landlock.ReadFile, false},
	fact.OpExecute:  {landlock.Execute, false},
	fact.OpWrite:    {landlock.WriteFile, false},
	fact.OpTruncate: {landlock.WriteFile, false},
	fact.OpCreate:   {landlock.MakeFile, true},
	fact.OpDelete:   {landlock.RemoveFile, true},
	fact.OpRename:   {landlock.RemoveFile, true},
	fact.OpLink:     {landlock.MakeFile, true},
}

// Granted reports whether the plan's rules let the command do op at path,
// which is absolute and free of symlinks. A plan that confines nothing grants
// everything.
func (p *Plan) Granted(name string, op fact.Op) bool {
	if !p.Report.Mode.Confines() {
		return true
	}
	need := rights[op]
	if need.parent {
		name = path.Dir(name)
	}
	return need.access != 0 && landlock.Granted(p.Rules, name, need.access)
}
