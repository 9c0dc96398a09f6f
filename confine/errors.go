package confine

import "github.com/sandbox-exec/sandbox-exec/confine/landlock"

// UnavailableError says why Landlock cannot hold any command here; its Reason
// has a hint.
type UnavailableError = landlock.UnavailableError

// InertError is the UnavailableError of a run whose proof failed: the ruleset
// was accepted and nothing was held.
func InertError() error {
	return &UnavailableError{Reason: landlock.Inert, Op: "a write that had to be refused was not"}
}
