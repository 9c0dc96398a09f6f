package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// InputError is a value that a caller gave and that cannot be taken. Nothing
// has run when it is returned.
type InputError struct {
	What  string // the name of the thing, such as "mode" or "workspace"
	Value string // what was given
	Want  string // what is accepted, or why the value is not
	Err   error  // the error behind it, with its errno; nil where there is none
}

func (e *InputError) Error() string {
	return fmt.Sprintf("invalid %s %q: %s", e.What, e.Value, e.Want)
}

// Unwrap returns the error behind it.
func (e *InputError) Unwrap() error { return e.Err }

func oneOf(what, value string, names []string) *InputError {
	return &InputError{What: what, Value: value, Want: "expected one of " + strings.Join(names, ", ")}
}

// failed is the InputError for an error of the file system. Its text is the
// errno's own, because operation and path stand in the InputError already.
func failed(what, value string, err error) error {
	text := err.Error()
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		text = path.Err.Error()
	case errors.Is(err, fs.ErrNotExist):
		text = "no such file or directory"
	}
	return &InputError{What: what, Value: value, Want: text, Err: err}
}
