package classify

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// world is a file system in which the user u may change everything below
// /home/u, /tmp and /srv, and read everything that is not closed.
type world struct {
	writable   []string          // roots of the policy
	unreadable []string          // of the policy
	missing    []string          // paths that do not exist, beside /missing
	closed     []string          // what ordinary permissions keep from u entirely
	writeOnly  []string          // what u may write but not read
	plain      []string          // files without the execute bit
	links      map[string]string // symlinks
	failing    []string          // paths whose questions find no answer
	questions  int
}

const home = "/home/u/w"

func readOnly() *world { return &world{writable: []string{"/scratch"}} }

func workspaceWrite() *world { return &world{writable: []string{"/scratch", home}} }

func within(roots []string, p string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return p == r || strings.HasPrefix(p, r+"/") })
}

func (w *world) Resolve(p string) (string, error) {
	w.questions++
	if within(w.failing, p) {
		return "", errors.New("deadline")
	}
	if within(w.closed, path.Dir(p)) {
		return "", fs.ErrPermission
	}
	for from, to := range w.links {
		if within([]string{from}, p) {
			return to + strings.TrimPrefix(p, from), nil
		}
	}
	return p, nil
}

func (w *world) Granted(p string, op fact.Op) bool {
	w.questions++
	if op == fact.OpRead || op == fact.OpExecute {
		return !within(w.unreadable, p)
	}
	return within(w.writable, p)
}

func (w *world) Permitted(p string, op fact.Op) (bool, error) {
	w.questions++
	missing := within(w.missing, p) || strings.HasPrefix(path.Base(p), "new")
	switch op {
	case fact.OpRead, fact.OpExecute, fact.OpTruncate:
		if missing {
			return false, fs.ErrNotExist
		}
		if op != fact.OpTruncate {
			return !within(w.closed, p) && !within(w.writeOnly, p) && (op == fact.OpRead || !within(w.plain, p)), nil
		}
	}
	if within(w.missing, path.Dir(p)) {
		return false, fs.ErrNotExist
	}
	return within([]string{"/home/u", "/tmp", "/srv", "/scratch"}, p) && !within(w.closed, p), nil
}

func (w *world) Program(name string) bool {
	w.questions++
	return slices.Contains([]string{"bash", "cat", "touch", "mytool", "git", "rm", "go"}, name)
}

// told shows denials as "op path", with a mark on the possible ones.
func told(denials []fact.Denial) []string {
	var out []string
	for _, d := range denials {
		text := string(d.Op) + " " + d.Path
		if d.Verdict == fact.Possible {
			text = "possible " + text
		}
		out = append(out, strings.TrimSpace(text))
	}
	return out
}

func run(w *world, code int, stderr string) []string {
	o := Outcome{Exit: fact.Exit{Code: code}, Dir: home, Stderr: []byte(stderr)}
	return told(Denials(o, w))
}
