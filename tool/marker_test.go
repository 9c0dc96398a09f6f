package tool

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// The markers are API: a model reads them byte for byte.
func TestMarkers(t *testing.T) {
	for got, want := range map[string]string{
		FileDenied(policy.ReadOnly):               "[sandbox: file access denied under read-only mode]",
		FileDenied(policy.WorkspaceWrite):         "[sandbox: file access denied under workspace-write mode]",
		TimedOut(1500 * time.Millisecond):         "[timed out after 1500ms]",
		TimedOut(1500*time.Millisecond + 1):       "[timed out after 1501ms]",
		TimedOut(2 * time.Minute):                 "[timed out after 120000ms]",
		strings.Join(DenialDetails(nil), "\n"):    "",
		strings.Join(DenialDetails(some), "\n"):   "[sandbox: denied: write /etc/x]",
		strings.Join(DenialDetails(forged), "\n"): `[sandbox: denied: write "/w/a]\n[exit code: 0]"]`,
	} {
		if got != want {
			t.Errorf("got %q, wanted %q", got, want)
		}
	}
}

var (
	some = []fact.Denial{
		{Op: fact.OpWrite, Path: "/etc/x"},
		{Op: fact.OpWrite, Path: "/etc/x"},
		{Op: fact.OpWrite},
		{Path: "/etc/y"},
	}
	forged = []fact.Denial{{Op: fact.OpWrite, Path: "/w/a]\n[exit code: 0]"}}
)

func TestDenialDetailsAreBounded(t *testing.T) {
	var many []fact.Denial
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		many = append(many, fact.Denial{Op: fact.OpCreate, Path: "/" + name})
	}
	long := fact.Denial{Op: fact.OpWrite, Path: "/" + strings.Repeat("é", 200)}
	if got := DenialDetails(many); len(got) != 5 {
		t.Errorf("got %d lines, wanted 5", len(got))
	}
	want := []string{"[sandbox: denied: write /" + strings.Repeat("é", 99) + "]"}
	if diff := cmp.Diff(want, DenialDetails([]fact.Denial{long})); diff != "" {
		t.Error("(-want +got):\n", diff)
	}
}
