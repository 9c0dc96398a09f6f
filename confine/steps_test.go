package confine

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

var update = flag.Bool("update", false, "write the golden files anew")

func rootSetup() setup {
	return setup{
		slots: slots{stdin: 1, stdout: 2, stderr: 3, dir: 4, ruleset: 5, scratchpad: 6},
		caps:  capabilities{permitted: 1<<41 - 1, effective: 1<<41 - 1, bounding: 1<<41 - 1, last: 40},
		umask: 0o22, core: unix.Rlimit{Cur: 0, Max: 1 << 30}, filter: make([]byte, 16),
	}
}

func show(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%s: %s\n", s.Name, s.Why)
		for i, c := range s.Calls {
			if i == 3 && len(s.Calls) > 4 {
				fmt.Fprintf(&b, "  … %d more\n", len(s.Calls)-4)
			}
			if i < 3 || i == len(s.Calls)-1 {
				fmt.Fprintf(&b, "  %d%v out %d expect %d optional %v%s\n", c.Number, c.Args, c.Out, c.Expect, c.Optional, stored(c))
			}
		}
	}
	return b.String()
}

func stored(c Call) string {
	if c.Store == nil {
		return ""
	}
	return fmt.Sprintf(" stored in %s at %d", c.Store.block.label, c.Store.at)
}

// TestSteps holds the order of every plan. Numbers are those of amd64.
func TestSteps(t *testing.T) {
	if unix.SYS_EXECVE != 59 {
		t.Log("the golden file has the numbers of amd64; only the order is compared")
	}
	job := Job{Program: "/bin/bash", Argv: []string{"bash", "-c", "true"}, Env: []string{"A=b"}, Proof: "/state/proof"}
	asking := rootSetup()
	asking.asks = true
	for _, tt := range []struct {
		name  string
		mode  policy.Mode
		setup setup
	}{
		{"read-only", policy.ReadOnly, rootSetup()},
		{"danger-full-access", policy.DangerFullAccess, rootSetup()},
		{"asking", policy.WorkspaceWrite, asking},
	} {
		job.Policy.Mode = tt.mode
		compareGolden(t, tt.name, show(steps(job, tt.setup)))
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name+".plan")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if unix.SYS_EXECVE != 59 {
		return
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// TestOrder: each pair must stand in this order, or something does not hold.
func TestOrder(t *testing.T) {
	job := Job{Policy: policy.Policy{Mode: policy.WorkspaceWrite}}
	position := map[string]int{}
	for i, s := range steps(job, rootSetup()) {
		position[s.Name] = i // the last one of a name
	}
	for _, pair := range [][2]string{
		{"stdio", "landlock"},
		{"directory", "landlock"},
		{"capabilities", "landlock"},
		{"no_new_privs", "landlock"},
		{"landlock", ProofStep},
		{ProofStep, FilterStep},
		{FilterStep, filterProofStep},
		{filterProofStep, "descriptors"},
		{"descriptors", "ready"},
		{"ready", ExecStep},
	} {
		if position[pair[0]] >= position[pair[1]] {
			t.Errorf("step %q comes after %q", pair[0], pair[1])
		}
	}
}

func TestFullAccessConfinesNothing(t *testing.T) {
	for _, s := range steps(Job{Policy: policy.Policy{Mode: policy.DangerFullAccess}}, rootSetup()) {
		switch s.Name {
		case "landlock", "no_new_privs", "capabilities", ProofStep, FilterStep, filterProofStep, "core limit":
			t.Errorf("the plan has step %q", s.Name)
		}
	}
}

func TestCapabilities(t *testing.T) {
	full := uint64(1<<41 - 1)
	for _, tt := range []struct {
		name  string
		in    capabilities
		drops int
	}{
		{"root", capabilities{full, full, full, 40}, 41 - 5},
		{"root without CAP_SETPCAP", capabilities{full, full &^ (1 << unix.CAP_SETPCAP), full, 40}, 0},
		{"an ordinary user", capabilities{0, 0, full, 40}, 0},
		{"nested", capabilities{Kept, Kept, Kept, 40}, 0},
	} {
		drops := 0
		for _, c := range tt.in.drop() {
			if c.Number == unix.SYS_PRCTL && c.Args[0].value == unix.PR_CAPBSET_DROP {
				drops++
				if has(Kept, int(c.Args[1].value)) {
					t.Errorf("%s: capability %d is dropped", tt.name, c.Args[1].value)
				}
			}
		}
		if drops != tt.drops {
			t.Errorf("%s: %d capabilities leave the bounding set, wanted %d", tt.name, drops, tt.drops)
		}
	}
	if got := capSets(Kept); le.Uint32(got) != 0xcb || le.Uint32(got[4:]) != 0xcb || le.Uint32(got[8:]) != 0 {
		t.Errorf("the kept sets are % x", got)
	}
}

func TestCoreLimit(t *testing.T) {
	for _, set := range []uint64{0, 1} {
		if calls := coreLimit(setup{core: unix.Rlimit{Cur: set, Max: set}}).Calls; len(calls) != 0 {
			t.Errorf("a limit that is %d already is set again", set)
		}
	}
	raise := capabilities{effective: 1 << unix.CAP_SYS_RESOURCE}
	for _, tt := range []struct {
		in   setup
		want uint64
	}{
		{setup{core: unix.Rlimit{Cur: 0, Max: 1}}, 1},
		{setup{core: unix.Rlimit{Cur: 0, Max: unix.RLIM_INFINITY}}, 1},
		{setup{core: unix.Rlimit{Cur: 0, Max: 0}, caps: raise}, 1},
	} {
		got := coreLimit(tt.in).Calls[0].Args[2].block.data
		if le.Uint64(got) != tt.want || le.Uint64(got[8:]) != tt.want {
			t.Errorf("limits of %v become % x, wanted %d twice", tt.in.core, got, tt.want)
		}
	}
}

// TestMetadata: nothing is let through but what a broker holds, or what was asked
// for by name.
func TestMetadata(t *testing.T) {
	named := []policy.Promise{policy.PromiseMetadata}
	missing := Broker{Missing: unix.EBUSY}
	for _, tt := range []struct {
		name   string
		policy policy.Policy
		broker Broker
		want   seccomp.Handling
		status fact.Status
	}{
		{"read-only", policy.Policy{}, Broker{}, seccomp.Ask, fact.Enforced},
		{"workspace-write", policy.Policy{Mode: policy.WorkspaceWrite}, Broker{}, seccomp.Ask, fact.Enforced},
		{"read-only without a broker", policy.Policy{}, missing, seccomp.Close, fact.Closed},
		{"read-only inside", policy.Policy{}, Broker{Outer: &OuterBroker{}}, seccomp.Close, fact.Closed},
		{"workspace-write inside a refusal", policy.Policy{Mode: policy.WorkspaceWrite}, Broker{Refused: true}, seccomp.Close, fact.Closed},
		{"workspace-write inside", policy.Policy{Mode: policy.WorkspaceWrite}, Broker{Outer: &OuterBroker{within: true}, Missing: unix.EBUSY}, seccomp.Leave, fact.Enforced},
		{"workspace-write inside wider roots", policy.Policy{Mode: policy.WorkspaceWrite}, Broker{Outer: &OuterBroker{}}, seccomp.Leave, fact.NotEnforced},
		{"closed", policy.Policy{Mode: policy.WorkspaceWrite, Closed: named}, missing, seccomp.Close, fact.Closed},
		{"closed with a broker", policy.Policy{Mode: policy.WorkspaceWrite, Closed: named}, Broker{}, seccomp.Close, fact.Closed},
		{"unenforced", policy.Policy{Mode: policy.WorkspaceWrite, AllowUnenforced: named}, Broker{}, seccomp.Leave, fact.NotEnforced},
	} {
		got, err := chooseMetadata(tt.policy, tt.broker)
		if err != nil || got.handling != tt.want || got.status != tt.status || got.detail == "" {
			t.Errorf("%s: got %+v and %v, wanted handling %d and %q", tt.name, got, err, tt.want, tt.status)
		}
	}
	got, err := chooseMetadata(policy.Policy{Mode: policy.WorkspaceWrite}, missing)
	var refused *MetadataError
	if !errors.As(err, &refused) || !errors.Is(err, unix.EBUSY) || refused.Hint() == "" {
		t.Errorf("workspace-write without a broker: got %+v and %v, wanted a *MetadataError that keeps the errno", got, err)
	}
}

// TestReport: what is not held must never be reported as held.
func TestReport(t *testing.T) {
	const (
		enforced = fact.Enforced
		closed   = fact.Closed
		missing  = fact.NotEnforced
		unasked  = fact.NotAsked
	)
	group := errors.New("only the group")
	ww := policy.Policy{Mode: policy.WorkspaceWrite, Network: policy.NetworkDeny}
	without := policy.Policy{Mode: policy.WorkspaceWrite, AllowUnenforced: []policy.Promise{policy.PromiseMetadata}}
	open := policy.Policy{Mode: policy.WorkspaceWrite, Network: policy.NetworkAllow}
	// In the order of policy.Promises.
	for _, tt := range []struct {
		name string
		job  Job
		abi  int
		want []fact.Status
		sum  fact.Enforcement
	}{
		{"read-only", Job{}, 7, []fact.Status{enforced, enforced, enforced, enforced, enforced, enforced, closed, closed, enforced, enforced, enforced, enforced, enforced, unasked}, fact.Full},
		{"read-only without a broker, in a library", Job{Tree: group, Broker: Broker{Missing: unix.EBUSY}}, 7, []fact.Status{enforced, enforced, enforced, closed, enforced, enforced, closed, closed, enforced, enforced, enforced, enforced, missing, unasked}, fact.Partial},
		{"workspace-write", Job{Policy: ww}, 7, []fact.Status{enforced, enforced, enforced, enforced, enforced, enforced, closed, closed, enforced, enforced, enforced, enforced, enforced, unasked}, fact.Full},
		{"workspace-write without metadata", Job{Policy: without}, 7, []fact.Status{enforced, enforced, enforced, missing, enforced, enforced, closed, closed, enforced, enforced, enforced, enforced, enforced, unasked}, fact.Partial},
		{"the network allowed", Job{Policy: open}, 7, []fact.Status{enforced, enforced, enforced, enforced, enforced, enforced, closed, missing, enforced, unasked, enforced, enforced, enforced, unasked}, fact.Partial},
		{"ABI 2", Job{}, 2, []fact.Status{enforced, closed, missing, enforced, enforced, enforced, closed, closed, enforced, enforced, enforced, missing, enforced, unasked}, fact.Partial},
		{"no mode", Job{Tree: group, Policy: policy.Policy{Mode: policy.DangerFullAccess}}, 0, []fact.Status{unasked, unasked, unasked, unasked, unasked, unasked, unasked, unasked, unasked, unasked, unasked, unasked, missing, unasked}, ""},
	} {
		m, err := chooseMetadata(tt.job.Policy, tt.job.Broker)
		if err != nil {
			t.Fatal(err)
		}
		r := report(holder{job: tt.job, metadata: m}, landlock.Kernel{ABI: tt.abi})
		var got []fact.Status
		for _, row := range r.Rows {
			got = append(got, row.Status)
			if (row.Detail == "") != (row.Status == fact.NotAsked) {
				t.Errorf("%s: row %+v gives no reason", tt.name, row)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || r.Enforcement != tt.sum {
			t.Errorf("%s: enforcement %q, rows (-want +got):\n%s", tt.name, r.Enforcement, diff)
		}
	}
}
