package seccomp

import (
	"slices"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Variant is the set of groups that one program holds. The zero value, None, is
// no filter at all: it has no program.
type Variant uint16

// None is the variant of a policy that confines nothing.
const None Variant = 0

// of makes a variant of groups.
func of(groups ...Group) Variant {
	var v Variant
	for _, g := range groups {
		v |= 1 << g
	}
	return v
}

// Has reports whether the variant's program holds the group's rules.
func (v Variant) Has(g Group) bool { return v&(1<<g) != 0 }

// Groups lists the variant's groups.
func (v Variant) Groups() []Group {
	return slices.DeleteFunc(Groups(), func(g Group) bool { return !v.Has(g) })
}

// String joins the names of the groups by "+"; it names the variant's program.
func (v Variant) String() string {
	if v == None {
		return "none"
	}
	var names []string
	for _, g := range v.Groups() {
		names = append(names, g.String())
	}
	return strings.Join(names, "+")
}

// Asks reports whether the variant's program asks a listener: it must be
// installed with one (SECCOMP_FILTER_FLAG_NEW_LISTENER).
func (v Variant) Asks() bool { return v.Has(MetadataAsked) }

// Rules returns the variant's rules in the order of the table, each call and
// condition once.
func (v Variant) Rules() []Rule {
	var rules []Rule
	for _, r := range Table() {
		if v.Has(r.Group) && !slices.ContainsFunc(rules, r.same) {
			rules = append(rules, r)
		}
	}
	return rules
}

// Options is what the choice depends on besides the policy. The zero value is
// the strictest.
type Options struct {
	// ABI is the Landlock ABI whose rights the ruleset handles. What an older
	// one does not see, the filter closes; zero closes all of it.
	ABI int
	// Metadata says what becomes of the calls that change modes, owners, times
	// and attributes; zero closes them.
	Metadata Handling
}

// Handling is what a filter does with calls that only a broker can judge,
// because what they act on is behind a pointer or a descriptor.
type Handling uint8

// The handlings.
const (
	Close Handling = iota // refuse all of them
	Ask                   // ask the listener about each
	Leave                 // let them through: something else holds them, or nothing does
)

// Choose returns the variant for a policy. It is None only for a mode that does
// not confine, and asks a listener only where the options say so.
func Choose(p policy.Policy, o Options) Variant {
	if !p.Mode.Confines() {
		return None
	}
	return of(Base) | shared(p.IPC) | sockets(p.Network) | o.Metadata.metadata() | o.beneath()
}

// shared closes what all processes of the user share.
func shared(ipc policy.IPC) Variant {
	if ipc == policy.IPCHost {
		return 0
	}
	return of(IPC)
}

// sockets closes unix connects as well while the network is closed: with no
// other family left, every connect is one.
func sockets(network policy.Network) Variant {
	if network == policy.NetworkAllow {
		return of(NetAllow)
	}
	return of(NetDeny, SocketsClosed)
}

// beneath closes what Landlock learned to govern after the ABI.
func (o Options) beneath() Variant {
	var v Variant
	if o.ABI < 3 {
		v |= of(Truncate)
	}
	if o.ABI < 6 {
		v |= of(Signals)
	}
	if o.ABI < 9 {
		v |= of(Unix)
	}
	return v
}

// metadata keeps set-id bits away where the calls are left: those are in an
// argument, so a filter can tell. A value that is no handling closes.
func (h Handling) metadata() Variant {
	switch h {
	case Ask:
		return of(MetadataAsked)
	case Leave:
		return of(SetID)
	}
	return of(MetadataClosed)
}

// Variants lists every variant that Choose can return, without None.
func Variants() []Variant {
	var variants []Variant
	for _, p := range everyPolicy() {
		for _, o := range everyOption() {
			if v := Choose(p, o); !slices.Contains(variants, v) {
				variants = append(variants, v)
			}
		}
	}
	slices.SortFunc(variants, func(a, b Variant) int { return strings.Compare(a.String(), b.String()) })
	return variants
}

// everyPolicy has one mode: the others that confine have the same filters.
func everyPolicy() []policy.Policy {
	var policies []policy.Policy
	for _, network := range []policy.Network{policy.NetworkDeny, policy.NetworkAllow} {
		for _, ipc := range []policy.IPC{policy.IPCNone, policy.IPCHost} {
			policies = append(policies, policy.Policy{Mode: policy.ReadOnly, Network: network, IPC: ipc})
		}
	}
	return policies
}

// everyOption has one ABI of each class that beneath tells apart.
func everyOption() []Options {
	var options []Options
	for _, abi := range []int{0, 3, 6, 9} {
		for _, metadata := range []Handling{Close, Ask, Leave} {
			options = append(options, Options{ABI: abi, Metadata: metadata})
		}
	}
	return options
}
