package tool

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// maxDetails is how many denials are named at the most.
const maxDetails = 5

// maxPath is how much of a path is shown, in bytes.
const maxPath = 200

// FileDenied is the marker of a failed run that a denial explains.
func FileDenied(mode policy.Mode) string {
	return fmt.Sprintf("[sandbox: file access denied under %s mode]", mode)
}

// TimedOut is the marker of a run that our timer ended. Fractions of a
// millisecond count as a whole one.
func TimedOut(timeout time.Duration) string {
	ms := (timeout + time.Millisecond - 1) / time.Millisecond
	return fmt.Sprintf("[timed out after %dms]", ms)
}

// DenialDetails is a line for each of the first five distinct denials whose
// operation and path are known.
func DenialDetails(denials []fact.Denial) []string {
	var lines []string
	seen := map[string]bool{}
	for _, d := range denials {
		if d.Op == "" || d.Path == "" {
			continue
		}
		line := fmt.Sprintf("[sandbox: denied: %s %s]", d.Op, showPath(d.Path))
		if !seen[line] && len(lines) < maxDetails {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	return lines
}

// showPath cuts a path, and quotes one that holds anything unprintable: a file
// name must not be able to forge a marker.
func showPath(path string) string {
	if len(path) > maxPath {
		path = path[:runeStart(path, maxPath)]
	}
	if strings.ContainsFunc(path, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(path)
	}
	return path
}

// runeStart is the last place at or before i where a character starts.
func runeStart(s string, i int) int {
	for i > 0 && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}
