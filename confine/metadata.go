package confine

import (
	"fmt"
	"os"
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
	// Outer is the broker of a sandbox of this kind around this process, which then
	// judges for the command as well: the kernel allows one. Nil where there is none.
	Outer *OuterBroker
	// Refused says that a filter around this process refuses the calls already.
	Refused bool
}

// OuterBroker is a broker that holds calls to roots of its own.
type OuterBroker struct {
	// Roots is how many it has, the scratch directory of its run not counted: this
	// run's own state lies there.
	Roots int
	// Root is which of them a file is, from 1 on; zero for none.
	Root func(*os.File) int

	// within says that they are all roots of this run as well.
	within bool
}

// among returns o with what is known of this run's roots.
func (o *OuterBroker) among(roots []*os.File) *OuterBroker {
	if o == nil {
		return nil
	}
	found := map[int]bool{}
	for _, root := range roots {
		if n := o.Root(root); n > 0 {
			found[n] = true
		}
	}
	return &OuterBroker{Roots: o.Roots, Root: o.Root, within: len(found) == o.Roots}
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
	hint     string
}

// chooseMetadata decides it. The error is a *MetadataError where workspace-write
// has nobody to ask: the mode would promise what does not hold.
func chooseMetadata(p policy.Policy, b Broker) (metadata, error) {
	const refused = "filter: mode, owner, times and attributes cannot be changed, in the writable roots either"
	switch {
	case slices.Contains(p.Closed, policy.PromiseMetadata):
		return metadata{handling: seccomp.Close, status: fact.Closed, detail: refused + ", as asked"}, nil
	case slices.Contains(p.AllowUnenforced, policy.PromiseMetadata) && (b.Outer != nil || b.Refused):
		return metadata{handling: seccomp.Leave, status: fact.NotEnforced, detail: "allowed, as asked, as far as the sandbox around this one lets it", hint: "leave --allow-unenforced metadata out"}, nil
	case slices.Contains(p.AllowUnenforced, policy.PromiseMetadata):
		return metadata{handling: seccomp.Leave, status: fact.NotEnforced, detail: "allowed, as asked: the file's owner can change mode, owner, times and attributes everywhere", hint: "leave --allow-unenforced metadata out"}, nil
	case b.Refused:
		return metadata{handling: seccomp.Close, status: fact.Closed, detail: refused + "; the sandbox around this one refuses it too"}, nil
	case b.Outer != nil && p.Mode == policy.ReadOnly:
		return metadata{handling: seccomp.Close, status: fact.Closed, detail: refused + "; the sandbox around this one has the only broker"}, nil
	case b.Outer != nil && b.Outer.within:
		return metadata{handling: seccomp.Leave, status: fact.Enforced, detail: "the broker of the sandbox around this one, to the same roots and its own scratch directory; it is told what is refused"}, nil
	case b.Outer != nil:
		return metadata{handling: seccomp.Leave, status: fact.NotEnforced, detail: "the broker of the sandbox around this one holds it to that one's writable roots, which are wider", hint: "give this run the same workspace, or --closed metadata"}, nil
	case b.Missing == nil:
		return metadata{handling: seccomp.Ask, status: fact.Enforced, detail: "filter, broker"}, nil
	case p.Mode == policy.ReadOnly:
		return metadata{handling: seccomp.Close, status: fact.Closed, detail: refused + "; " + b.Missing.Error()}, nil
	}
	return metadata{}, &MetadataError{Missing: b.Missing}
}
