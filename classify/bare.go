package classify

import (
	"slices"
	"strings"
)

// bare is what a message without quotes says: the paths, and the words before
// them. whole says that nothing but a path is there.
type bare struct {
	paths []string
	words []string
	whole bool
}

// pathVerbs stand right before a path in the messages of Go, git and others.
var pathVerbs = []string{
	"open", "mkdir", "create", "file", "unlink", "unlinkat", "remove", "rmdir", "read", "write", "chdir", "stat", "lstat", "truncate", "directory", "dir", "script", "exec", "find", "archive",
}

// goVerbs are whole messages of Go's PathError with the path after them.
var goVerbs = []string{"open", "openat", "mkdir", "mkdirat", "remove", "unlinkat", "stat", "lstat", "chdir", "truncate", "readdirent", "fork/exec"}

// pairVerbs stand before two paths in Go's LinkError.
var pairVerbs = []string{"rename", "link", "symlink"}

// afterPath is what messages put between a path and the errno.
var afterPath = []string{" for writing", " for reading", " for output", " for input", " for appending", " failed", " - open"}

// bareText reads a message without quotes. It finds no path where it is not
// sure which of the words belong to it.
func bareText(text string) bare {
	text = strings.TrimPrefix(text, "*** ") // make
	at := pathStart(text)
	if at < 0 {
		return bareRelative(text)
	}
	words := wordsOf(text[:at])
	rest := trimAfterPath(text[at:])
	b := bare{words: append(words, wordsOf(text[at+len(rest):])...)}
	before, fields := strings.Fields(text[:at]), strings.Fields(rest)
	n := len(before)
	switch {
	case n >= 2 && slices.Contains(pairVerbs, before[n-2]):
		b.paths = pairOf(before[n-1] + " " + rest)
	case len(fields) == 1:
		b.paths = fields
	case n >= 1 && slices.Contains(pairVerbs, before[n-1]):
		b.paths = pairOf(rest)
	case n >= 1 && slices.Contains(pathVerbs, strings.ToLower(before[n-1])):
		b.paths = []string{rest}
	}
	b.whole = at == 0 && len(b.paths) > 0
	return b
}

// bareRelative reads a message in which no word starts as a path does: the
// last word is one where a verb precedes it.
func bareRelative(text string) bare {
	fields := strings.Fields(trimAfterPath(text))
	n := len(fields)
	switch {
	case n == 1:
		return bare{paths: fields, whole: true}
	case n >= 3 && slices.Contains(pairVerbs, fields[n-3]):
		return bare{paths: fields[n-2:], words: wordsOf(text)}
	case n == 2 && slices.Contains(goVerbs, fields[0]), n > 2 && looksRelative(fields[n-2], fields[n-1]):
		words := wordsOf(strings.Join(fields[:n-1], " "))
		return bare{paths: fields[n-1:], words: append(words, wordsOf(text[len(trimAfterPath(text)):])...)}
	}
	return bare{words: wordsOf(text)}
}

// looksRelative reports whether word is a path after verb: "failed to open
// stream" names none.
func looksRelative(verb, word string) bool {
	return slices.Contains(pathVerbs, strings.ToLower(verb)) && strings.ContainsAny(word, "/.")
}

// pathStart is the offset of the first word that starts as a path, or -1.
func pathStart(text string) int {
	best := -1
	for _, start := range []string{"/", "./", "../"} {
		if strings.HasPrefix(text, start) {
			return 0
		}
		if i := strings.Index(text, " "+start); i >= 0 && (best < 0 || i+1 < best) {
			best = i + 1
		}
	}
	return best
}

func trimAfterPath(text string) string {
	for _, words := range afterPath {
		if rest, found := strings.CutSuffix(text, words); found {
			return rest
		}
	}
	return strings.TrimSuffix(text, ",")
}

// pairOf splits "old new". A name with a space in it makes that a guess, and
// then there is no pair.
func pairOf(text string) []string {
	if fields := strings.Fields(text); len(fields) == 2 {
		return fields
	}
	return nil
}

func isURL(path string) bool { return strings.Contains(path, "://") }
