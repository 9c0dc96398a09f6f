package confine

import (
	"fmt"
	"slices"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Broker says who can judge the calls that neither Landlock nor a filter can. The
// zero value is a broker of ours.
type Broker struct {
	// Missing is why ours cannot; nil where it can.
	Missing error
	// Outer says that a sandbox of this kind around this process has a broker,
	// which then judges for the command as well. The kernel allows one.
	Outer bool
	// Refused says that a filter around this process refuses the calls already.
	Refused bool
}

// MetadataError says that a command would run with its metadata calls
// unconfined. It does not run.
type MetadataError struct {
	// Missing is why no broker can judge them.
	Missing error
}

func (e *MetadataError) Error() string {
	return fmt.Sprintf("nothing can hold changes of mode, owner, times and attributes to the writable roots: %v", e.Missing)
}

// Unwrap returns why.
func (e *MetadataError) Unwrap() error { return e.Missing }

// Hint names both ways out.
func (*MetadataError) Hint() string {
	return "--closed metadata refuses such changes everywhere, and git, tar and gcc fail then; --allow-unenforced metadata lets them through, outside the workspace as well"
}

// metadata is what becomes of the promise, and what the filter does for it.
type metadata struct {
	handling seccomp.Handling
	status   fact.Status
	detail   string
}

// chooseMetadata decides it. The error is a *MetadataError where workspace-write
// has nobody to ask: the mode would promise what does not hold.
func chooseMetadata(p policy.Policy, b Broker) (metadata, error) {
	const refused = "filter: mode, owner, times and attributes cannot be changed, in the writable roots either"
	switch {
	case slices.Contains(p.Closed, policy.PromiseMetadata):
		return metadata{seccomp.Close, fact.Closed, refused + ", as asked"}, nil
	case slices.Contains(p.AllowUnenforced, policy.PromiseMetadata):
		return metadata{seccomp.Leave, fact.NotEnforced, "allowed, as asked: the file's owner can change mode, owner, times and attributes everywhere"}, nil
	case b.Refused:
		return metadata{seccomp.Close, fact.Closed, refused + "; the sandbox around this one refuses it too"}, nil
	case b.Outer && p.Mode == policy.ReadOnly:
		return metadata{seccomp.Close, fact.Closed, refused + "; the sandbox around this one has the only broker"}, nil
	case b.Outer:
		return metadata{seccomp.Leave, fact.Enforced, "the broker of the sandbox around this one, to its writable roots"}, nil
	case b.Missing == nil:
		return metadata{seccomp.Ask, fact.Enforced, "filter, broker"}, nil
	case p.Mode == policy.ReadOnly:
		return metadata{seccomp.Close, fact.Closed, refused + "; " + b.Missing.Error()}, nil
	}
	return metadata{}, &MetadataError{Missing: b.Missing}
}
