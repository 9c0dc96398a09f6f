package classify

import (
	"slices"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// Outcome is a finished run, as far as classification needs it.
type Outcome struct {
	Exit fact.Exit
	// Dir is the directory the command started in, absolute. Relative paths in
	// its text are taken from there.
	Dir string
	// Stdout and Stderr are the kept tails of the streams; they may start in
	// the middle of a line.
	Stdout, Stderr []byte
	// Exact is what the sandbox itself knows that it refused.
	Exact []fact.Denial
}

// Files answers questions about files, asked outside the sandbox.
type Files interface {
	// Resolve returns path free of symlinks, as far as it exists: the end of a
	// path that does not exist is kept. path is absolute and clean.
	Resolve(path string) (string, error)
	// Granted reports whether the policy in force lets the command do op at
	// path, which is resolved.
	Granted(path string, op fact.Op) bool
	// Permitted reports whether ordinary permissions let the command's user do
	// op at path, which is resolved. A read-only file system is a "no". For a
	// file that does not exist OpWrite and OpCreate ask its directory; OpDelete,
	// OpRename and OpLink always ask the directory. Any other question about a
	// missing file, or about a missing directory, is an error; one that matches
	// fs.ErrPermission is a "no".
	Permitted(path string, op fact.Op) (bool, error)
	// Program reports whether name is a program in the command's PATH that could
	// have printed a message.
	Program(name string) bool
}

// maxPaths bounds the candidate paths of one run that Files is asked about,
// and maxNames the names of programs. The kernel's file systems may be slow,
// and a command can print what it likes.
const (
	maxPaths = 32
	maxNames = 32
)

// Denials returns the accesses that the sandbox denied, each (op, path) once:
// what it knows, and then the file accesses that the text tells of, in its order.
// A refusal that the text tells without an operation, of a path that is known to
// have been refused, is that refusal. A run that succeeded yields only verdict
// Denied, read from stderr. A run that failed also yields what stdout tells,
// and verdict Possible where the last line of stderr holds it: a refusal that
// the command went on from does not explain how it ended.
func Denials(o Outcome, files Files) []fact.Denial {
	j := newJudge(o, files)
	stderr := readStream(o.Stderr, j.answers.isProgram)
	markExecution(stderr.claims, o.Exit)
	found := denialSet{denials: slices.Clone(o.Exact)}
	for _, c := range stderr.claims {
		found.add(j.denials(c), failed(o.Exit) && c.index == stderr.last)
	}
	if !failed(o.Exit) {
		return found.denials
	}
	for _, c := range readStream(o.Stdout, j.answers.isProgram).claims {
		found.add(j.denials(c), false)
	}
	return found.denials
}

// Denied reports whether the run counts as denied by the sandbox: it failed,
// and denials, as Denials returned them for it, name a file access or a change of
// metadata. Denials
// has dropped the possible ones that do not explain the failure.
func Denied(exit fact.Exit, denials []fact.Denial) bool {
	return failed(exit) && slices.ContainsFunc(denials, func(d fact.Denial) bool {
		return d.Kind == fact.KindFile || d.Kind == fact.KindMetadata && d.Verdict == fact.Denied
	})
}

func failed(exit fact.Exit) bool { return exit.Failed() || exit.TimedOut }

// denialSet collects denials, each (op, path) once.
type denialSet struct{ denials []fact.Denial }

func (s *denialSet) add(denials []fact.Denial, keepPossible bool) {
	for _, d := range denials {
		if d.Verdict == fact.Possible && !keepPossible {
			continue
		}
		same := func(e fact.Denial) bool { return e.Op == d.Op && e.Path == d.Path }
		if !slices.ContainsFunc(s.denials, same) {
			s.denials = append(s.denials, d)
		}
	}
}
