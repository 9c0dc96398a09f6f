package executor

import (
	"bytes"
	"unicode/utf8"
)

// Output is what is kept of one stream.
type Output struct {
	// Tail is the end of the stream, at most 64,000 bytes, and begins at the
	// start of a character where the stream is UTF-8.
	Tail []byte
	// Bytes is the length of the whole stream.
	Bytes int64
	// Truncated says that Tail is not all of it.
	Truncated bool
	// WriteError is why the request's writer did not get all of it; nil where it
	// did, or where there is none. Bytes and Tail then end there as well.
	WriteError error
}

// tailLimit is how much of a stream is kept, in bytes.
const tailLimit = 64_000

// tail keeps the end of a stream. Its memory grows with the stream up to
// twice the limit, and is then cut back.
type tail struct {
	kept  []byte
	total int64
}

func (t *tail) Write(b []byte) (int, error) {
	t.total += int64(len(b))
	if len(b) > tailLimit {
		t.kept = append(t.kept[:0], b[len(b)-tailLimit:]...)
		return len(b), nil
	}
	t.kept = append(t.kept, b...)
	if len(t.kept) > 2*tailLimit {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-tailLimit:]...)
	}
	return len(b), nil
}

func (t *tail) output() Output {
	kept := t.kept[max(0, len(t.kept)-tailLimit):]
	truncated := t.total > int64(len(kept))
	if truncated {
		kept = kept[partialRune(kept):]
	}
	return Output{Tail: bytes.Clone(kept), Bytes: t.total, Truncated: truncated}
}

// partialRune is how many bytes at the start belong to a character that was cut.
func partialRune(b []byte) int {
	for i := 0; i < min(utf8.UTFMax-1, len(b)); i++ {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return 0
}
