package seccomp

import (
	"slices"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

func TestChoose(t *testing.T) {
	newest := Options{ABI: 9}
	tests := []struct {
		name    string
		policy  policy.Policy
		options Options
		want    Variant
	}{
		{"read-only", policy.Policy{Mode: policy.ReadOnly}, newest, of(Base, IPC, NetDeny, SocketsClosed, MetadataClosed)},
		{"workspace-write", policy.Policy{Mode: policy.WorkspaceWrite}, newest, of(Base, IPC, NetDeny, SocketsClosed, MetadataClosed)},
		{"a broker", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 9, Metadata: Ask}, of(Base, IPC, NetDeny, SocketsClosed, MetadataAsked)},
		{"a broker in read-only", policy.Policy{Mode: policy.ReadOnly}, Options{ABI: 9, Metadata: Ask}, of(Base, IPC, NetDeny, SocketsClosed, MetadataAsked)},
		{"metadata left", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 9, Metadata: Leave}, of(Base, IPC, NetDeny, SocketsClosed, SetID)},
		{"metadata left in read-only", policy.Policy{Mode: policy.ReadOnly}, Options{ABI: 9, Metadata: Leave}, of(Base, IPC, NetDeny, SocketsClosed, SetID)},
		{"a value that is no handling", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 9, Metadata: 77}, of(Base, IPC, NetDeny, SocketsClosed, MetadataClosed)},
		{"full access with a broker", policy.Policy{Mode: policy.DangerFullAccess}, Options{ABI: 9, Metadata: Ask}, None},
		{"full access", policy.Policy{Mode: policy.DangerFullAccess}, newest, None},
		{"full access on an old kernel", policy.Policy{Mode: policy.DangerFullAccess}, Options{}, None},
		{"a value that is no mode", policy.Policy{Mode: policy.Mode(77)}, newest, of(Base, IPC, NetDeny, SocketsClosed, MetadataClosed)},
		{"the host's IPC", policy.Policy{Mode: policy.WorkspaceWrite, IPC: policy.IPCHost}, newest, of(Base, NetDeny, SocketsClosed, MetadataClosed)},
		{"network", policy.Policy{Mode: policy.WorkspaceWrite, Network: policy.NetworkAllow}, newest, of(Base, IPC, NetAllow, MetadataClosed)},
		{"a value that is no network", policy.Policy{Mode: policy.WorkspaceWrite, Network: "x"}, newest, of(Base, IPC, NetDeny, SocketsClosed, MetadataClosed)},
		{"newer than anybody has read", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 99}, of(Base, IPC, NetDeny, SocketsClosed, MetadataClosed)},
		{"ABI 8", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 8}, of(Base, IPC, NetDeny, SocketsClosed, Unix, MetadataClosed)},
		{"ABI 6", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 6}, of(Base, IPC, NetDeny, SocketsClosed, Unix, MetadataClosed)},
		{"ABI 5", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 5}, of(Base, IPC, NetDeny, SocketsClosed, Unix, MetadataClosed, Signals)},
		{"ABI 3", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 3}, of(Base, IPC, NetDeny, SocketsClosed, Unix, MetadataClosed, Signals)},
		{"ABI 2", policy.Policy{Mode: policy.WorkspaceWrite}, Options{ABI: 2}, of(Base, IPC, NetDeny, SocketsClosed, Unix, MetadataClosed, Signals, Truncate)},
		{"the strictest", policy.Policy{Mode: policy.ReadOnly}, Options{}, of(Base, IPC, NetDeny, SocketsClosed, Unix, MetadataClosed, Signals, Truncate)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Choose(tt.policy, tt.options)
			if got != tt.want {
				t.Errorf("got %s, wanted %s", got, tt.want)
			}
		})
	}
}

// TestVariants: whatever Choose returns has a program and a text on both
// architectures, under a name of its own.
func TestVariants(t *testing.T) {
	variants := Variants()
	if len(variants) != 48 {
		t.Errorf("%d variants, wanted 4 classes of ABI × 2 networks × 2 of IPC × 3 handlings", len(variants))
	}
	for abi := range 12 {
		for _, o := range everyOption() {
			o.ABI = abi
			for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
				if v := Choose(policy.Policy{Mode: mode}, o); !slices.Contains(variants, v) {
					t.Errorf("%s, %+v chooses %s, which Variants does not list", mode, o, v)
				}
			}
		}
	}
	names := map[string]Variant{}
	for _, v := range variants {
		if v.Asks() != slices.ContainsFunc(v.Rules(), Rule.Asks) {
			t.Errorf("%s asks: %v, its rules say otherwise", v, v.Asks())
		}
		if other, taken := names[v.String()]; taken {
			t.Errorf("%#x and %#x are both %s", other, v, v)
		}
		names[v.String()] = v
		for _, arch := range Arches() {
			if _, err := shipped(t, arch).Program(v); err != nil {
				t.Error(err)
			}
		}
	}
}
