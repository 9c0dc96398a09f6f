package seccomp

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// instruction is the size of one: struct sock_filter.
const instruction = 8

// Archive holds the programs of one architecture as package compile packs them.
type Archive struct {
	// Programs starts with a line for each part, its name and its length in
	// bytes, and an empty line. The parts follow. The first is the dictionary, a
	// program as it is; every other is a variant's program, deflated with it, so
	// that one can be had without the others (BenchmarkProgram).
	Programs string
	// Texts is a gzip stream of the variants' texts, each below a line with
	// TextMark and the variant's name.
	Texts string
}

// TextMark begins the line above a text.
const TextMark = "-- "

// Program returns the variant's program: struct sock_filter after struct
// sock_filter, in the byte order of both architectures, little-endian.
func (a Archive) Program(v Variant) ([]byte, error) {
	program, err := a.unpack(v.String())
	if err != nil {
		return nil, fmt.Errorf("unpack filter %s: %w", v, err)
	}
	if len(program) == 0 || len(program)%instruction != 0 {
		return nil, fmt.Errorf("unpack filter %s: got %d bytes, wanted instructions of %d", v, len(program), instruction)
	}
	return program, nil
}

var errNoFilter = errors.New("there is none")

func (a Archive) unpack(name string) ([]byte, error) {
	index, parts, _ := strings.Cut(a.Programs, "\n\n")
	dictionary, offset := "", 0
	for line := range strings.Lines(index) {
		part, length, err := indexLine(line, len(parts)-offset)
		if err != nil {
			return nil, err
		}
		packed := parts[offset:][:length]
		if dictionary == "" {
			dictionary = packed
		} else if part == name {
			return io.ReadAll(flate.NewReaderDict(strings.NewReader(packed), []byte(dictionary)))
		}
		offset += length
	}
	return nil, errNoFilter
}

func indexLine(line string, rest int) (name string, length int, err error) {
	name, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	length, err = strconv.Atoi(number)
	if err != nil || length < 1 || length > rest {
		return "", 0, fmt.Errorf("broken index line %q", line)
	}
	return name, length, nil
}

// PFC returns the variant's rules as text: our prelude, then libseccomp's pseudo
// filter code. The text is in the order of a linear search; the program searches
// the same rules in a tree.
func (a Archive) PFC(v Variant) (string, error) {
	packed, err := gzip.NewReader(strings.NewReader(a.Texts))
	if err != nil {
		return "", fmt.Errorf("unpack the text of filter %s: %w", v, err)
	}
	text, err := textBelow(packed, TextMark+v.String())
	if err != nil {
		return "", fmt.Errorf("unpack the text of filter %s: %w", v, err)
	}
	return text, nil
}

func textBelow(r io.Reader, heading string) (string, error) {
	var text bytes.Buffer
	lines, found := bufio.NewScanner(r), false
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), TextMark) {
			found = lines.Text() == heading
		} else if found {
			text.WriteString(lines.Text() + "\n")
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	if text.Len() == 0 {
		return "", errNoFilter
	}
	return text.String(), nil
}
