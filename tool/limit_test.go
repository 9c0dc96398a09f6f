package tool

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// The lines are API, as the other markers are.
func TestLimitsReached(t *testing.T) {
	got := LimitsReached([]fact.Limit{
		{Kind: fact.LimitMemory, Value: 48 << 20},
		{Kind: fact.LimitMemory, Value: 2 << 30},
		{Kind: fact.LimitMemory, Value: 1536 << 10},
		{Kind: fact.LimitMemory, Value: 1<<20 + 1},
		{Kind: fact.LimitProcesses, Value: 20},
		{Kind: "disk", Value: 7},
	})
	want := []string{
		"[sandbox: memory limit of 48MiB reached]",
		"[sandbox: memory limit of 2GiB reached]",
		"[sandbox: memory limit of 1536KiB reached]",
		"[sandbox: memory limit of 1048577B reached]",
		"[sandbox: process limit of 20 reached]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("(-want +got):\n", diff)
	}
	if got := LimitsReached(nil); got != nil {
		t.Errorf("no limit gave %q", got)
	}
}
