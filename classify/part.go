package classify

import (
	"slices"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// readPart reads the paths and the operation of one part of a message that
// speaker printed. It reports whether the part names a file.
func readPart(c claim, p piece, speaker string) (claim, bool) {
	if len(p.quoted) > 0 {
		return readQuoted(c, p, speaker)
	}
	b := bareText(p.text)
	if op := opOf(b.words); op != "" {
		c.op = op
	}
	if _, names := speakerOp(speaker); names && len(b.paths) == 0 && pathStart(p.text) == 0 {
		b.paths = []string{p.text} // with a space in it
	}
	if len(b.paths) == 0 || slices.ContainsFunc(b.paths, isURL) {
		return c, false
	}
	if b.whole && !strings.Contains(b.paths[0], "/") && !namesFile(speaker, b.paths[0]) {
		return c, false
	}
	c.paths = b.paths
	return c, true
}

// namesFile reports whether a word alone is a file's name: for some speakers
// it is, if it is not the name of a system call.
func namesFile(speaker, word string) bool {
	_, names := speakerOp(speaker)
	words := wordsOf(word)
	return names && !aboutFile(words) && !containsAny(words, elsewhere)
}

// readQuoted reads a part with quotes. What is quoted need not be a file: how
// it starts, the words or the speaker must say so.
func readQuoted(c claim, p piece, speaker string) (claim, bool) {
	words := wordsOf(p.words)
	if op := opOf(words); op != "" {
		c.op = op
	}
	_, names := speakerOp(speaker)
	starts := slices.ContainsFunc(p.quoted, func(q string) bool { return pathStart(q) == 0 })
	if !starts && !names && !containsAny(words, fileWords) || slices.ContainsFunc(p.quoted, isURL) {
		return c, false
	}
	c.paths = p.quoted[:min(2, len(p.quoted))]
	if len(c.paths) == 2 && (c.op == fact.OpLink || c.op == "" && (speaker == "ln" || speaker == "link")) {
		// coreutils names the new link first.
		c.paths = []string{c.paths[1], c.paths[0]}
	}
	return c, true
}
