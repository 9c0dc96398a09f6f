package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
)

// packPrograms makes the Programs of a seccomp.Archive. The dictionary is the
// longest program: it has nearly every rule.
func packPrograms(all []compiled) ([]byte, error) {
	dictionary := longest(all)
	var index, parts bytes.Buffer
	fmt.Fprintf(&index, "dictionary %d\n", len(dictionary))
	parts.Write(dictionary)
	for _, c := range all {
		packed, err := deflate(c.program, dictionary)
		if err != nil {
			return nil, fmt.Errorf("pack %s: %w", c.variant, err)
		}
		fmt.Fprintf(&index, "%s %d\n", c.variant, len(packed))
		parts.Write(packed)
	}
	index.WriteByte('\n')
	return append(index.Bytes(), parts.Bytes()...), nil
}

func longest(all []compiled) (program []byte) {
	for _, c := range all {
		if len(c.program) > len(program) {
			program = c.program
		}
	}
	return program
}

func deflate(content, dictionary []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriterDict(&b, flate.BestCompression, dictionary)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(content); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// packTexts makes the Texts of a seccomp.Archive.
func packTexts(all []compiled) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if _, err := fmt.Fprintf(w, "%s%s\n%s", seccomp.TextMark, c.variant, c.text); err != nil {
			return nil, err
		}
	}
	err = w.Close()
	return b.Bytes(), err
}
