package classify

import (
	"slices"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// claim is what a refusal line says, before anybody asked whose refusal it is.
type claim struct {
	index  int // of the line in its stream
	line   string
	family family
	op     fact.Op // empty where the line does not tell
	// paths are as printed: none where the line names no file, two where
	// something was to go from the first to the second.
	paths []string
	// shell marks a shell's line that may be a redirection or a program that
	// could not be started.
	shell bool
}

// reader reads the claims of one stream.
type reader struct {
	lines   []string
	program func(name string) bool
}

// stream is what a stream says: its claims, and its last line with a text.
type stream struct {
	claims []claim
	last   int
}

// rustHint follows a panic; it says nothing of its own.
const rustHint = "note: run with `RUST_BACKTRACE="

func readStream(tail []byte, program func(string) bool) stream {
	r := reader{lines: cleanLines(tail), program: program}
	s := stream{last: -1}
	for i, line := range r.lines {
		if line == "" || strings.HasPrefix(line, rustHint) {
			continue
		}
		s.last = i
		if c, ok := r.claim(i); ok {
			c.index, c.line = i, shown(line)
			s.claims = append(s.claims, c)
		}
	}
	return s
}

// claim reads line i.
func (r reader) claim(i int) (claim, bool) {
	line := r.lines[i]
	if quotedElsewhere(line) {
		return claim{}, false
	}
	if at := strings.Index(line, javaDenied); at >= 0 {
		return javaClaim(line[at+len(javaDenied):])
	}
	end := len(line)
	for range maxSpans {
		s, ok := lastSpan(line, end)
		if !ok {
			break
		}
		end = len(s.head)
		s.trimMarks()
		if c, ok := r.read(i, s); ok {
			return c, true
		}
	}
	if s, ok := numberedSpan(line); ok && end == len(line) {
		s.trimMarks()
		return r.read(i, s)
	}
	return claim{}, false
}

// javaClaim reads "PATH" or "PATH -> PATH".
func javaClaim(text string) (claim, bool) {
	paths := strings.SplitN(text, " -> ", 2)
	return claim{paths: paths}, text != ""
}

// read chooses by what follows the errno's text.
func (r reader) read(i int, s span) (claim, bool) {
	c := claim{family: s.family}
	tail := s.tail
	switch {
	case s.name:
		return r.readName(i, s)
	case isEnd(tail) || isPerl(tail):
		return r.readHead(i, s)
	case strings.HasPrefix(tail, ": "):
		c.paths = reprs(tail[2:])
		c.op = r.pythonOp(i, len(c.paths))
		if r.relativeToHandle(i) {
			c.paths = nil
			return c, s.leadsTo()
		}
		if strings.HasPrefix(s.head, "zsh:") {
			c.paths, c.shell = []string{tail[2:]}, true
		}
	case strings.HasPrefix(tail, ", "):
		syscall, rest, _ := strings.Cut(tail[2:], " ")
		c.op, c.paths = opOf(wordsOf(syscall)), rawPair(strings.TrimRight(rest, " {]"))
	case strings.HasPrefix(tail, ` at path "`):
		c.paths = reprs(tail[len(" at path "):])
		c.op = opOf(wordsOf(s.head))
	case strings.HasPrefix(tail, " @ "):
		c.op, c.paths = rubyTail(tail[3:])
	case strings.HasPrefix(tail, `"`):
		return r.readMessage(i, s)
	}
	return c, len(c.paths) > 0 && s.leadsTo()
}

// isEnd reports whether a tail ends the line. Any other parenthesis, such as
// ssh's "(publickey)", and any other word makes the errno's text prose.
func isEnd(tail string) bool {
	return slices.Contains([]string{"", ".", ")", ").", ".  Stop."}, tail)
}

// isPerl recognises what die appends.
func isPerl(tail string) bool {
	return strings.HasPrefix(tail, " at ") && strings.Contains(tail, " line ") && strings.HasSuffix(tail, ".")
}

// rubyTail reads "rb_sysopen - PATH (Errno::EACCES)".
func rubyTail(tail string) (fact.Op, []string) {
	function, rest, found := strings.Cut(tail, " - ")
	path, _, named := strings.Cut(rest, " (Errno::E")
	if !found || !named || isURL(path) {
		return "", nil
	}
	op := opOf(wordsOf(strings.ReplaceAll(function, "_", " ")))
	if inner, pair := strings.CutPrefix(path, "("); pair {
		return op, strings.SplitN(strings.TrimSuffix(inner, ")"), ", ", 2)
	}
	return op, []string{path}
}

// readMessage reads a log's key="MESSAGE" or "key":"MESSAGE". A quotation in
// a sentence is somebody else's line.
func (r reader) readMessage(i int, s span) (claim, bool) {
	open := strings.LastIndexByte(s.head, '"')
	if open < 0 {
		return claim{}, false
	}
	key := strings.TrimRight(s.head[:open], " ")
	if !strings.HasSuffix(key, "=") && !strings.HasSuffix(key, ":") {
		return claim{}, false
	}
	s.numbered = s.numbered || strings.HasSuffix(key, "kind: PermissionDenied, message:")
	s.head, s.tail = s.head[open+1:], ""
	return r.readHead(i, s)
}
