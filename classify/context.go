package classify

import (
	"strings"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// pythonCalls are calls as a traceback shows them, above the refusal.
var pythonCalls = []struct {
	call string
	op   fact.Op
}{
	{"child_exception_type(", fact.OpExecute}, // subprocess
	{"os.execv", fact.OpExecute},
	{"os.mkdir(", fact.OpCreate},
	{"os.mkfifo(", fact.OpCreate},
	{"makedirs(", fact.OpCreate},
	{"os.unlink(", fact.OpDelete},
	{"os.remove(", fact.OpDelete},
	{"os.rmdir(", fact.OpDelete},
	{"os.rename(", fact.OpRename},
	{"os.replace(", fact.OpRename},
	{"os.link(", fact.OpLink},
	{"os.symlink(", fact.OpLink},
	{"os.listdir(", fact.OpRead},
	{"os.scandir(", fact.OpRead},
	{"os.chdir(", fact.OpRead},
	{"os.stat(", fact.OpRead},
}

// pythonOp takes the operation from the traceback's last call. paths is how
// many the refusal names: a call with another number is another call.
func (r reader) pythonOp(i, paths int) fact.Op {
	line := r.callBefore(i)
	for _, c := range pythonCalls {
		pair := c.op == fact.OpRename || c.op == fact.OpLink
		if strings.Contains(line, c.call) && pair == (paths == 2) {
			return c.op
		}
	}
	return ""
}

// callBefore is the line of code above line i, without the marks under it.
func (r reader) callBefore(i int) string {
	for i--; i >= 0; i-- {
		if strings.Trim(r.lines[i], " ^~") != "" {
			return r.lines[i]
		}
	}
	return ""
}

// relativeToHandle reports whether the path of line i is relative to a
// directory that the text does not name.
func (r reader) relativeToHandle(i int) bool {
	return strings.Contains(r.callBefore(i), "dir_fd=")
}

// aboutSocket reports whether a traceback shows a call on a socket above line i.
func (r reader) aboutSocket(i int) bool {
	line := r.callBefore(i)
	return strings.Contains(line, ".bind(") || strings.Contains(line, ".connect(") || strings.Contains(line, "socket.")
}

// readCause reads an errno's text that stands alone. Rust's libraries print
// what was tried above it: the statement, "Caused by:", the errno.
func (r reader) readCause(i int, c claim) (claim, bool) {
	i = r.lineBefore(i)
	if i < 0 || strings.TrimSpace(r.lines[i]) != "Caused by:" {
		return c, true
	}
	if i = r.lineBefore(i); i < 0 || len(r.lines[i]) > maxHead {
		return c, true
	}
	ps := pieces(strings.TrimSpace(r.lines[i]))
	named, ok := readPart(c, ps[len(ps)-1], "")
	if !ok || len(named.paths) > 1 {
		return c, true
	}
	return named, true
}

// lineBefore is the index of the line with a text before line i, or -1.
func (r reader) lineBefore(i int) int {
	for i--; i >= 0 && r.lines[i] == ""; i-- {
	}
	return i
}

// readName reads an errno's name without its text: node's "spawn PATH EACCES"
// and npm's "code EACCES".
func (r reader) readName(i int, s span) (claim, bool) {
	if s.tail != "" {
		return claim{}, false
	}
	statement := s.head[strings.LastIndex(s.head, ": ")+1:]
	fields := strings.Fields(statement)
	if len(fields) == 2 && strings.HasPrefix(fields[0], "spawn") {
		return claim{family: s.family, op: fact.OpExecute, paths: fields[1:]}, strings.Contains(fields[1], "/")
	}
	if label, ok := strings.CutSuffix(s.head, " code"); ok && strings.HasPrefix(label, "npm ") {
		return r.readNpm(i, label, claim{family: s.family})
	}
	return claim{}, false
}

// npmLines is how many lines npm says a refusal in: code, syscall, path, dest.
const npmLines = 4

func (r reader) readNpm(i int, label string, c claim) (claim, bool) {
	for _, line := range r.lines[i+1 : min(i+npmLines, len(r.lines))] {
		text, ok := strings.CutPrefix(line, label+" ")
		if !ok {
			break
		}
		switch key, value, _ := strings.Cut(text, " "); key {
		case "syscall":
			c.op = opOf(wordsOf(value))
		case "path", "dest":
			c.paths = append(c.paths, value)
		}
	}
	return c, len(c.paths) > 0 && len(c.paths) <= 2
}
