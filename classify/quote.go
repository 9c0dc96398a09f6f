package classify

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// piece is one part of a message between its ": ".
type piece struct {
	text   string   // all of it
	words  string   // without what is quoted
	quoted []string // what is quoted, without the quotes
}

// quotePairs are the quotes of messages: gnulib's in several languages, old
// GNU style, and rust's backquotes.
var quotePairs = []struct{ open, close string }{
	{"‘", "’"},
	{"“", "”"},
	{"„", "“"},
	{"«", "»"},
	{"「", "」"},
	{"`", "`"},
	{"`", "'"},
	{`"`, `"`},
}

// pieces splits a message at each ": " that is not quoted.
func pieces(text string) []piece {
	var out []piece
	var words strings.Builder
	var quoted []string
	start, missing := 0, map[string]bool{}
	cut := func(end int) {
		out = append(out, piece{strings.TrimSpace(text[start:end]), strings.TrimSpace(words.String()), quoted})
		words.Reset()
		quoted = nil
	}
	for i := 0; i < len(text); {
		if value, n := quotedAt(text, i, missing); n > 0 {
			quoted = append(quoted, value)
			words.WriteByte(' ')
			i += n
			continue
		}
		if n := colonAt(text[i:]); n > 0 {
			cut(i)
			i += n
			start = i
			continue
		}
		words.WriteByte(text[i])
		i++
	}
	cut(len(text))
	return out
}

// colonAt is the length of the separator that s starts with, or 0.
func colonAt(s string) int {
	switch {
	case strings.HasPrefix(s, ": "):
		return 2
	case strings.HasPrefix(s, "："):
		return len("：")
	}
	return 0
}

// quotedAt returns what is quoted at text[i:], and the length with quotes, or
// 0. missing remembers the closing quotes that the rest of text does not hold,
// so that a line full of opening ones is searched once.
func quotedAt(text string, i int, missing map[string]bool) (string, int) {
	if i > 0 && strings.IndexByte(" (=:[,", text[i-1]) < 0 && text[i] < utf8.RuneSelf {
		return "", 0
	}
	if text[i] == '\'' {
		return shellWord(text[i:], missing)
	}
	for _, pair := range quotePairs {
		if missing[pair.close] || !strings.HasPrefix(text[i:], pair.open) {
			continue
		}
		body := text[i+len(pair.open):]
		end := closing(body, pair.close)
		if end < 0 {
			missing[pair.close] = true
			continue
		}
		value := strings.Trim(body[:end], " \u00a0\u202f")
		if len(pair.open) > 1 {
			value = unescape(value) // gnulib escapes in its locale style only
		}
		return value, len(pair.open) + end + len(pair.close)
	}
	return "", 0
}

// closing finds the closing quote that ends a word, or -1.
func closing(body, quote string) int {
	for from := 0; ; {
		i := strings.Index(body[from:], quote)
		if i < 0 {
			return -1
		}
		if from += i; wordEnds(body[from+len(quote):]) {
			return from
		}
		from += len(quote)
	}
}

func wordEnds(rest string) bool {
	return rest == "" || strings.IndexByte(" :,;.)]", rest[0]) >= 0 || strings.HasPrefix(rest, "：") || rest[0] >= utf8.RuneSelf
}

// shellWord reads a word as coreutils quotes it for a shell: 'a', 'it'\”s',
// 'a'$'\n”b'. It returns the word and its length, or 0.
func shellWord(s string, missing map[string]bool) (string, int) {
	var b strings.Builder
	for i := 0; i < len(s); {
		switch rest := s[i:]; {
		case strings.HasPrefix(rest, `\'`):
			b.WriteByte('\'')
			i += 2
		case !missing["$'"] && strings.HasPrefix(rest, "$'"):
			end := escapedEnd(rest[2:])
			if end < 0 {
				missing["$'"] = true
				return "", 0
			}
			b.WriteString(unescape(rest[2 : 2+end]))
			i += end + 3
		case rest[0] == '\'' && !missing["'"]:
			end := strings.IndexByte(rest[1:], '\'')
			if end < 0 {
				missing["'"] = true
				return "", 0
			}
			b.WriteString(rest[1 : 1+end])
			i += end + 2
		case wordEnds(rest):
			return b.String(), i
		default:
			return "", 0
		}
	}
	return b.String(), len(s)
}

// escapedEnd finds the quote that no backslash precedes.
func escapedEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			return i
		}
	}
	return -1
}

// unescape undoes the escapes of C, which python and rust share.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for s != "" {
		if s[0] != '\\' {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		value, multibyte, tail, err := strconv.UnquoteChar(s, 0)
		switch {
		case err == nil && multibyte:
			b.WriteRune(value)
		case err == nil:
			b.WriteByte(byte(value))
		case len(s) > 1:
			b.WriteByte(s[1]) // \' and \ , which UnquoteChar refuses here
			tail = s[2:]
		}
		s = tail
	}
	return b.String()
}

// reprs reads a python message's paths: 'a', b'a' or 'a' -> 'b'.
func reprs(text string) []string {
	var out []string
	for {
		text = strings.TrimPrefix(text, "b")
		if text == "" || strings.IndexByte(`'"`, text[0]) < 0 {
			return nil
		}
		end := reprEnd(text)
		if end < 0 {
			return nil
		}
		out = append(out, unescape(text[1:end]))
		if text = text[end+1:]; !strings.HasPrefix(text, " -> ") {
			return out
		}
		text = text[len(" -> "):]
		if len(out) == 2 {
			return nil
		}
	}
}

// reprEnd finds the quote that closes the one text starts with.
func reprEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i
		}
	}
	return -1
}

// rawPair reads libuv's paths, 'a' or 'a' -> 'b', which escape nothing.
func rawPair(text string) []string {
	if len(text) < 2 || text[0] != '\'' || text[len(text)-1] != '\'' {
		return nil
	}
	return strings.SplitN(text[1:len(text)-1], "' -> '", 2)
}
