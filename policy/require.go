package policy

// Require says how much of what was asked must be held for a command to run.
// The zero value asks no more than the mode does by itself.
type Require string

const (
	// RequireFull wants every promise that was asked enforced or closed.
	RequireFull Require = "full"
	// RequireEnforced wants every promise that was asked enforced as promised,
	// and none closed.
	RequireEnforced Require = "enforced"
)

// ParseRequire returns the value of that name, or an *InputError.
func ParseRequire(name string) (Require, error) {
	return parseOption("require", name, RequireFull, RequireEnforced)
}
