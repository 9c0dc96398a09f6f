package classify

import (
	"slices"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// maxHead bounds what is read of a line before the errno's text: two paths of
// the kernel's longest, 4096 bytes (PATH_MAX).
const maxHead = 2 * 4096

// readHead reads a line that ends with the errno's text.
func (r reader) readHead(i int, s span) (claim, bool) {
	if !s.leadsTo() || len(s.head) > maxHead {
		return claim{}, false
	}
	c := claim{family: s.family}
	head := strings.TrimSpace(strings.TrimRight(s.head, ":：(, "))
	if head == "" || isNumber(head) {
		return r.readCause(i, c)
	}
	ps := pieces(head)
	name := speakerName(ps[0].text)
	switch {
	case slices.Contains(strangers, name) || s.numbered && r.aboutSocket(i):
		return claim{}, false
	case len(ps) == 1:
		return r.readLone(c, ps[0], s.numbered)
	case isShellLine(ps):
		return readShell(c, ps)
	case slices.Contains(shells, ps[0].text) && len(ps) == 2 && pathStart(ps[1].text) == 0:
		c.paths, c.shell = []string{ps[1].text}, true
		return c, true
	}
	return r.readParts(c, ps, s.numbered)
}

// readLone reads a message of one part. A single word is a speaker that names
// no file; if it is no program it cannot have spoken.
func (r reader) readLone(c claim, p piece, numbered bool) (claim, bool) {
	if len(p.quoted) == 0 && !strings.Contains(p.text, " ") {
		if strings.Contains(p.text, "/") && !isURL(p.text) {
			c.paths = []string{p.text}
			return c, true
		}
		return c, numbered || r.program(p.text)
	}
	if containsAny(wordsOf(unpath(p)), elsewhere) || isURL(p.text) {
		return claim{}, false
	}
	c, named := readPart(c, p, "")
	return c, named || numbered || containsAny(wordsOf(p.words), fileWords)
}

// readParts reads "SPEAKER: ...: PART". Where the last part is a statement
// without a path, the path is in the part before.
func (r reader) readParts(c claim, ps []piece, numbered bool) (claim, bool) {
	last, before := ps[len(ps)-1], ps[len(ps)-2]
	words := wordsOf(unpath(last))
	if containsAny(words, elsewhere) || isURL(last.text) {
		return claim{}, false
	}
	name := speakerName(ps[0].text)
	c, named := readPart(c, last, name)
	if strings.HasSuffix(last.words, "link to") {
		named, c.paths = false, nil // tar's link is in the part before, and this is where it leads
	}
	if named {
		c.op = firstOp(c.op, aroundOp(ps, name))
		return c, true
	}
	if aboutFile(words) && (len(ps) > 2 || name == "") {
		if b, ok := readPart(claim{family: c.family}, before, name); ok {
			b.op = firstOp(c.op, b.op)
			return b, true
		}
	}
	return c, numbered || containsAny(words, fileWords) || r.program(name)
}

// aroundOp takes the operation from the part before a lone path, or from the
// speaker.
func aroundOp(ps []piece, name string) fact.Op {
	last, before := ps[len(ps)-1], ps[len(ps)-2]
	if len(ps) > 2 && len(wordsOf(unpath(last))) == 0 {
		if op := opOf(wordsOf(before.words)); op != "" {
			return op
		}
	}
	op, _ := speakerOp(name)
	return op
}

func firstOp(a, b fact.Op) fact.Op {
	if a != "" {
		return a
	}
	return b
}

// unpath is the words of a part without its paths.
func unpath(p piece) string {
	if len(p.quoted) > 0 {
		return p.words
	}
	b := bareText(p.text)
	if b.whole && strings.Contains(b.paths[0], "/") {
		return ""
	}
	if b.whole {
		return p.text
	}
	return strings.Join(b.words, " ")
}
