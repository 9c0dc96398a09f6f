package classify

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxLine is the length of Denial.Line in bytes.
const maxLine = 400

// cleanLines splits a stream's tail into lines as a terminal would show them.
func cleanLines(stream []byte) []string {
	if len(stream) > 0 && !utf8.RuneStart(stream[0]) {
		// A tail that starts inside a character starts inside a line.
		_, stream, _ = bytes.Cut(stream, []byte("\n"))
	}
	var out []string
	for line := range bytes.SplitSeq(stream, []byte("\n")) {
		out = append(out, cleanLine(string(line)))
	}
	return out
}

// cleanLine takes colours away, and what a progress bar has overwritten.
func cleanLine(line string) string {
	line = strings.TrimRight(stripEscapes(line), "\r \t")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

const escape = '\x1b'

func stripEscapes(s string) string {
	if strings.IndexByte(s, escape) < 0 {
		return s
	}
	var b strings.Builder
	titles := true
	for i := strings.IndexByte(s, escape); i >= 0; i = strings.IndexByte(s, escape) {
		b.WriteString(s[:i])
		s = s[i+1:]
		if titles && strings.HasPrefix(s, "]") {
			rest := skipTitle(s)
			// One search that finds no end is enough: no later one will.
			titles = len(rest) < len(s)
			s = rest
			continue
		}
		s = skipControl(s)
	}
	b.WriteString(s)
	return b.String()
}

// skipTitle skips an operating system command (a title, a hyperlink), which
// BEL or ESC \ ends. Without an end s is returned whole.
func skipTitle(s string) string {
	end := strings.IndexAny(s, "\a\x1b")
	if end < 0 {
		return s
	}
	return strings.TrimPrefix(s[end+1:], `\`)
}

// skipControl skips the rest of a control sequence (ECMA-48, 5.4): parameters
// and intermediates are 0x20 to 0x3f, and the byte after them is the last.
func skipControl(s string) string {
	i := 0
	if strings.HasPrefix(s, "[") {
		i = 1
	}
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] < utf8.RuneSelf {
		i++
	}
	return s[i:]
}

// shown is the line as a fact keeps it: text, and no longer than maxLine.
func shown(line string) string {
	line = strings.TrimLeft(line, " \t")
	line = strings.ToValidUTF8(line[:min(len(line), 2*maxLine)], "\ufffd")
	if len(line) <= maxLine {
		return line
	}
	end := maxLine
	for !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end]
}

// quotedElsewhere reports whether the line shows another text's line: our own
// marker, a shell's trace, a difference between files, a match in a file.
func quotedElsewhere(line string) bool {
	text := strings.TrimLeft(line, " \t")
	if text == "" || strings.HasPrefix(text, "[sandbox:") {
		return true
	}
	if strings.IndexByte("+#", line[0]) >= 0 || strings.HasPrefix(line, "< ") || strings.HasPrefix(line, "> ") {
		return true
	}
	if line[0] == '-' && !strings.HasPrefix(line, "-bash: ") {
		return true
	}
	word, _, _ := strings.Cut(text, " ")
	return isMatch(word)
}

// isMatch reports whether word starts as grep -n prints a match, FILE:12:text.
// A compiler's FILE:12:3: has a digit or nothing there, ruby's FILE:12:in a
// word of its own.
func isMatch(word string) bool {
	_, rest, found := strings.Cut(word, ":")
	if !found {
		return false
	}
	number, text, found := strings.Cut(rest, ":")
	return found && isNumber(number) && text != "" && text != "in" && !isNumber(text[:1])
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
