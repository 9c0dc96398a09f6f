package keeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// ownGroups lists the control groups of this process.
func ownGroups(t *testing.T) []string {
	t.Helper()
	own, err := kerneltest.OwnGroup("pids")
	if err != nil {
		t.Fatal(err)
	}
	self, err := NewName()
	if err != nil {
		t.Fatal(err)
	}
	mine, _ := strings.CutSuffix(self.String(), self.Serial)
	found, err := filepath.Glob(filepath.Join(own, groupPrefix+mine+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// shellIn is shell, in a group.
func shellIn(t *testing.T, g *Group, command string) *confine.Plan {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := confine.Prepare(confine.Job{
		Policy:  policy.Policy{Mode: policy.DangerFullAccess},
		Program: "/bin/sh", Argv: []string{"sh", "-c", command}, Dir: "/",
		Group: confine.Group{Entrances: g.Entrances()},
		Stdin: null, Stdout: null, Stderr: null,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plan.Close(); null.Close() })
	return plan
}

func group1(t *testing.T, k *Keeper, l policy.Limits) *Group {
	t.Helper()
	g, err := k.Group(l)
	if err == nil {
		err = g.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(ownGroups(t)) != 1 || g.Tree() == "" || g.Why() != "" {
		t.Fatalf("groups %q, tree %q, why %q", ownGroups(t), g.Tree(), g.Why())
	}
	return g
}

// TestGroupIsRemoved, whatever became of its run.
func TestGroupIsRemoved(t *testing.T) {
	kerneltest.Require(t, kerneltest.Cgroup1)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, use := range map[string]func(k *Keeper, g *Group){
		"no spawn": func(_ *Keeper, g *Group) { g.Close(); g.Close() },
		"it ran": func(_ *Keeper, g *Group) {
			p, err := g.Spawn(t.Context(), helper, shellIn(t, g, "true"))
			if err != nil {
				t.Fatal(err)
			}
			end(t, p)
			if err := p.GroupLeft(); err != nil || p.Usage().PeakProcesses == 0 || len(p.Reached()) > 0 {
				t.Errorf("%v, %+v, %+v", err, p.Usage(), p.Reached())
			}
			g.Close()
		},
		"no helper": func(_ *Keeper, g *Group) {
			if _, err := g.Spawn(t.Context(), "/nowhere", shell(t, "true", "")); err == nil {
				t.Error("it ran")
			}
			g.Close()
		},
		"killed before": func(_ *Keeper, g *Group) {
			if p, err := g.Spawn(cancelled, helper, shell(t, "sleep 5; true", "")); err == nil {
				end(t, p)
			}
			g.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := start(t)
			use(k, group1(t, k, policy.Limits{}))
			left := ownGroups(t)
			for end := time.Now().Add(5 * time.Second); len(left) > 0 && time.Now().Before(end); left = ownGroups(t) {
				time.Sleep(time.Millisecond)
			}
			if len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// TestCloseRemovesGroups that wait for a spawn.
func TestCloseRemovesGroups(t *testing.T) {
	kerneltest.Require(t, kerneltest.Cgroup1)
	k := start(t)
	g := group1(t, k, policy.Limits{})
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	if left := ownGroups(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := g.Spawn(t.Context(), helper, shell(t, "true", "")); !errors.Is(err, ErrGone) {
		t.Errorf("a spawn after Close gave %v", err)
	}
	if _, err := k.Group(policy.Limits{}); !errors.Is(err, ErrGone) {
		t.Errorf("a group after Close gave %v", err)
	}
}

// TestLimitsReachedOfARun tells the two kinds apart, and the helper from the
// command.
func TestLimitsReachedOfARun(t *testing.T) {
	kerneltest.Require(t, kerneltest.Cgroup1)
	k := start(t)
	for command, want := range map[string]string{
		"true": "",
		"head -c 90M /dev/zero | tail -c 80M >/dev/null; true":                              "memory 50331648",
		"for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21; do sleep 1 & done": "processes 20",
	} {
		g := group1(t, k, policy.Limits{Memory: 48 << 20, Processes: 20})
		p, err := g.Spawn(t.Context(), helper, shellIn(t, g, command))
		if err != nil {
			t.Fatal(err)
		}
		end(t, p)
		if got := tell(p.Reached()); got != want {
			t.Errorf("%s: reached %q, wanted %q", command, got, want)
		}
	}
}

func tell(limits []fact.Limit) string {
	var list []string
	for _, l := range limits {
		list = append(list, string(l.Kind)+" "+itoa(int(l.Value)))
	}
	return strings.Join(list, ", ")
}

// TestRefusedGroup: what cannot be had is an error of its stage, and a parent that
// is none is input.
func TestRefusedGroup(t *testing.T) {
	_, err := Start(Options{CgroupParent: t.TempDir()})
	var input *policy.InputError
	if !errors.As(err, &input) || input.What != "cgroup parent" {
		t.Errorf("got %v", err)
	}
	kerneltest.Require(t, kerneltest.Cgroup1)
	g, err := start(t).Group(policy.Limits{Processes: 5 << 20, CPUs: 1e15}) // more than the kernel takes
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	err = g.Wait(t.Context())
	var h *HelperError
	if !errors.As(err, &h) || h.Stage != confine.LimitsStep || h.Errno == 0 {
		t.Errorf("got %v", err)
	}
	if left := ownGroups(t); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestZombieOwner: an owner that nobody reaps is dead.
func TestZombieOwner(t *testing.T) {
	for text, want := range map[string]bool{"S 1": false, "Z 1": true, "Z 0": true, "Z 5": false, "R 4": false} {
		state, threads, _ := strings.Cut(text, " ")
		fields := make([]string, 50)
		fields[0], fields[17] = state, threads
		if got := ended(fields); got != want {
			t.Errorf("state %s with %s threads: ended %v", state, threads, got)
		}
	}
}
