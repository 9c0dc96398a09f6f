package confine

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/landlock"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// TestLimitSteps: the groups are entered before anything else, and the limits of
// each process come behind every step that opens a file.
func TestLimitSteps(t *testing.T) {
	s := rootSetup()
	s.groups = []Slot{6, 7}
	s.slots.scratchpad = 8
	for _, mode := range []policy.Mode{policy.ReadOnly, policy.DangerFullAccess} {
		job := Job{Policy: policy.Policy{Mode: mode, Limits: policy.Limits{OpenFiles: 3, FileSize: 1 << 20}}}
		list := steps(job, s)
		first, last := list[0], list[len(list)-4]
		if first.Name != LimitsStep || len(first.Calls) != 2 || first.Calls[1].Number != unix.SYS_WRITE || first.Calls[1].Args[0].String() != "slot 7" {
			t.Errorf("%s: the first step is %+v", mode, first)
		}
		if last.Name != LimitsStep || len(last.Calls) != 2 || last.Calls[0].Number != unix.SYS_PRLIMIT64 {
			t.Errorf("%s: before the last three steps comes %+v", mode, last)
		}
		for _, step := range list[len(list)-3:] {
			for _, c := range step.Calls {
				if c.Number == unix.SYS_OPENAT {
					t.Errorf("%s: step %s opens a file behind the limits", mode, step.Name)
				}
			}
		}
		job.Policy.Limits = policy.Limits{}
		for _, step := range steps(job, rootSetup()) {
			if step.Name == LimitsStep {
				t.Errorf("%s: without limits and groups there is %+v", mode, step)
			}
		}
	}
}

func TestLimitsRow(t *testing.T) {
	const by, why = "control groups v1: 4096 processes", "pids: permission denied"
	for _, tt := range []struct {
		name   string
		group  Group
		limits policy.Limits
		status fact.Status
		detail string
	}{
		{"a group", Group{Limits: by, Tree: "cgroup.kill"}, policy.Limits{}, fact.Enforced, by},
		{"none", Group{Why: why}, policy.Limits{}, fact.NotAsked, "no process limit: " + why},
		{"refused", Group{Refused: "memory 1GiB: " + why}, policy.Limits{Memory: 1 << 30, OpenFiles: 9}, fact.NotEnforced, "memory 1GiB: " + why},
		{"nobody asked the keeper", Group{}, policy.Limits{}, fact.NotAsked, ""},
		{"none, and rlimits", Group{Why: why}, policy.Limits{OpenFiles: 9}, fact.Enforced, "rlimits: 9 open files; no process limit: " + why},
		{"both", Group{Limits: by}, policy.Limits{FileSize: 1024}, fact.Enforced, by + "; rlimits: files of 1KiB"},
	} {
		for _, mode := range []policy.Mode{policy.ReadOnly, policy.DangerFullAccess} {
			r := report(holder{job: Job{Policy: policy.Policy{Mode: mode, Limits: tt.limits}, Group: tt.group, Tree: errors.New("only the group")}}, landlock.Kernel{})
			row, tree := r.Rows[len(r.Rows)-1], r.Rows[len(r.Rows)-2]
			if row.Promise != policy.PromiseLimits || row.Status != tt.status || row.Detail != tt.detail {
				t.Errorf("%s: got %+v", tt.name, row)
			}
			if (tree.Status == fact.Enforced) != (tt.group.Tree != "") {
				t.Errorf("%s: the tree is %+v", tt.name, tree)
			}
		}
	}
}

// TestHardLimits: what the caller may not have itself is refused before a helper
// is started.
func TestHardLimits(t *testing.T) {
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	if err := checkLimits(policy.Limits{OpenFiles: int(own.Max)}); err != nil {
		t.Error(err)
	}
	var limit *LimitError
	if err := checkLimits(policy.Limits{OpenFiles: int(own.Max) + 1}); !errors.As(err, &limit) || limit.Hard != own.Max || !errors.Is(err, unix.EPERM) {
		t.Errorf("got %v", err)
	}
}
