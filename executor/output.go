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
	// Spill is the path of a file that holds the whole stream; empty where Tail
	// does already, where nothing was to be spilled, and where SpillError says why
	// there is none. The file is removed a day after the command's end, or earlier
	// where all such files come to more than 1 GiB.
	Spill string
	// SpillError is why a spill file could not be had or was given up, such as for
	// a stream of more than 67,108,864 bytes; nil where nothing failed.
	SpillError error
	// WriteError is why the request's writer did not get all of it; nil where it
	// did, or where there is none. Bytes and Tail then end there as well.
	WriteError error
}

// Delta is what one read of a task gives of a stream. The zero value is a
// stream without news at its beginning.
type Delta struct {
	// Data is what came since the previous read and is still in memory, at most
	// 64,000 bytes. Where the stream is UTF-8 it holds whole characters: one that
	// has not come whole waits for the next read, unless the stream has ended.
	Data []byte
	// From and To are the offsets in the whole stream, in bytes, of the first byte
	// of Data and of the one behind its last. The next read begins at To.
	From, To int64
	// Lossy says that bytes between the previous read and From were dropped from
	// memory. Spill has them.
	Lossy bool
	// Spill and SpillError are as in Output, at the time of the read. The file may
	// be longer than To, and is given up where the stream grows too long for it.
	Spill      string
	SpillError error
}

// tailLimit is how much of a stream is kept, in bytes.
const tailLimit = 64_000

// tail keeps the end of a stream. Its memory grows with the stream up to
// twice the limit, and is then cut back. It remembers up to where it was read.
type tail struct {
	kept  []byte
	total int64
	read  int64
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
	kept := t.end()
	truncated := t.total > int64(len(kept))
	if truncated {
		kept = kept[partialRune(kept):]
	}
	return Output{Tail: bytes.Clone(kept), Bytes: t.total, Truncated: truncated}
}

// end is what is promised to be kept, and not what happens to be there besides.
func (t *tail) end() []byte { return t.kept[max(0, len(t.kept)-tailLimit):] }

// progress says whether a stream goes on.
type progress uint8

const (
	flowing progress = iota
	over
)

// next is what was not read yet. Nothing is given twice.
func (t *tail) next(p progress) Delta {
	kept := t.end()
	from := t.total - int64(len(kept))
	d := Delta{From: max(from, t.read), Lossy: from > t.read}
	fresh := kept[d.From-from:]
	if d.Lossy {
		cut := partialRune(fresh)
		fresh, d.From = fresh[cut:], d.From+int64(cut)
	}
	if p == flowing {
		fresh = fresh[:len(fresh)-unfinishedRune(fresh)]
	}
	d.Data, d.To = bytes.Clone(fresh), d.From+int64(len(fresh))
	t.read = d.To
	if p == over {
		t.kept = nil // nobody can get it any more
	}
	return d
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

// unfinishedRune is how many bytes at the end are the beginning of a character
// whose rest has not come.
func unfinishedRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		last := b[len(b)-n:]
		if utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
