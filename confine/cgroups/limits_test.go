package cgroups

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

var limits = policy.Limits{Memory: 48 << 20, Processes: 20, CPUs: 1.5}

// files is a group whose files lie in a directory of the test: it shows what is
// written and how what is read is understood, also for kernels that are not here.
func files(t *testing.T, v2 bool, content map[string]string) *Group {
	t.Helper()
	dir := t.TempDir()
	g := &Group{limits: limits, parts: map[controller]string{}, v2: map[controller]bool{}}
	all := []controller{memory, pids, cpu, cpuacct}
	if v2 {
		all = []controller{memory, pids, cpu, unified}
	}
	for _, c := range all {
		g.parts[c], g.v2[c] = dir, v2
	}
	for name, text := range content {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// TestSettings is what is written, in order. memory.oom.group is not there: a
// child that is killed must not take the shell with it.
func TestSettings(t *testing.T) {
	for _, tt := range []struct {
		v2   bool
		want []setting
	}{
		{false, []setting{
			{file: "memory.limit_in_bytes", value: "50331648", want: "50331648"},
			{file: "memory.memsw.limit_in_bytes", value: "50331648", want: "50331648", swap: true},
			{file: "pids.max", value: "20"},
			{file: "cpu.cfs_period_us", value: "100000"},
			{file: "cpu.cfs_quota_us", value: "150000"},
		}},
		{true, []setting{
			{file: "memory.max", value: "50331648", want: "50331648"},
			{file: "memory.swap.max", value: "0", swap: true},
			{file: "pids.max", value: "20"},
			{file: "cpu.max", value: "150000 100000"},
		}},
	} {
		g := &Group{limits: limits, v2: map[controller]bool{memory: tt.v2, pids: tt.v2, cpu: tt.v2}}
		var got []setting
		for _, c := range limiting {
			got = append(got, g.settings(c)...)
		}
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(setting{})); diff != "" {
			t.Errorf("version 2 %v (-want +got):\n%s", tt.v2, diff)
		}
	}
	g := &Group{v2: map[controller]bool{}}
	if got := g.settings(pids); len(got) != 1 || got[0].value != "4096" {
		t.Errorf("the default is %+v", got)
	}
	g.limits.Memory = 5<<20 + 1
	if _, pages := g.memory(); pages != "5242880" {
		t.Errorf("in whole pages %s", pages)
	}
}

// TestSetIsReadBack: a write that had no effect is an error, and a file that must
// be there is not made.
func TestSetIsReadBack(t *testing.T) {
	g := files(t, true, map[string]string{"memory.max": ""})
	if err := g.set(memory); (err == nil) != (swapSize() == 0) { // without swap accounting
		t.Error(err)
	}
	if err := g.set(pids); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without pids.max: %v", err)
	}
	if err := os.Symlink("/dev/null", filepath.Join(g.parts[pids], "pids.max")); err != nil {
		t.Fatal(err)
	}
	if err := g.set(pids); err == nil {
		t.Error("a write that had no effect counts as set")
	}
}

// TestUncountedSwap: where swap is not counted and there is some, what is over a
// memory limit would go there.
func TestUncountedSwap(t *testing.T) {
	if err := uncounted("memory.swap.max", 0); err != nil {
		t.Error(err)
	}
	if err := uncounted("memory.swap.max", 4096); !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(err.Error(), "no memory.swap.max") {
		t.Errorf("got %v", err)
	}
}

func TestReached(t *testing.T) {
	outOfMemory := fact.Limit{Kind: fact.LimitMemory, Value: 48 << 20}
	outOfProcesses := fact.Limit{Kind: fact.LimitProcesses, Value: 20}
	for name, tt := range map[string]struct {
		v2    bool
		files map[string]string
		want  []fact.Limit
	}{
		"nothing there":                     {true, nil, nil},
		"v2, killed":                        {true, map[string]string{"memory.events": "low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n"}, []fact.Limit{outOfMemory}},
		"v2, at the limit and reclaimed":    {true, map[string]string{"memory.events": "max 900\noom 0\noom_kill 0\n"}, nil},
		"v2, the machine ran out of memory": {true, map[string]string{"memory.events": "max 0\noom 0\noom_kill 1\n"}, nil},
		"v2, a fork refused":                {true, map[string]string{"pids.events": "max 3\n", "pids.peak": "20"}, []fact.Limit{outOfProcesses}},
		"before pids.peak, nobody left":     {true, map[string]string{"pids.events": "max 3\n"}, nil},
		"before pids.peak, the limit above": {true, map[string]string{"pids.events": "max 3\n", "pids.current": "2"}, nil},
		"before pids.peak, at the limit":    {true, map[string]string{"pids.events": "max 3\n", "pids.current": "20"}, []fact.Limit{outOfProcesses}},
		"v2, the limit above":               {true, map[string]string{"pids.events": "max 3\n", "pids.peak": "2"}, nil},
		"v1, killed":                        {false, map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "memory.max_usage_in_bytes": "50331648"}, []fact.Limit{outOfMemory}},
		"v1, killed by memory and swap":     {false, map[string]string{"memory.oom_control": "oom_kill 2\n", "memory.memsw.failcnt": "7"}, []fact.Limit{outOfMemory}},
		"v1, the machine ran out of memory": {false, map[string]string{"memory.oom_control": "oom_kill 1\n", "memory.failcnt": "0", "memory.max_usage_in_bytes": "4096"}, nil},
		"v1, failcnt is no limit reached":   {false, map[string]string{"memory.oom_control": "oom_kill 0\n", "memory.failcnt": "99"}, nil},
		"v1, both":                          {false, map[string]string{"memory.oom_control": "oom_kill 1\n", "memory.failcnt": "1", "pids.events": "max 1\n", "pids.peak": "19"}, []fact.Limit{outOfMemory, outOfProcesses}},
	} {
		g := files(t, tt.v2, tt.files)
		if got := g.Reached(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %+v, wanted %+v", name, got, tt.want)
		}
	}
}

// TestNear: what a counter may lag behind is never all that there is to count.
func TestNear(t *testing.T) {
	const batch = 64 * 64 << 10 // of 64 KiB pages
	for _, tt := range []struct {
		peak, limit, lag uint64
		want             bool
	}{
		{20, 20, 4, true},
		{16, 20, 4, true},
		{15, 20, 4, false},
		{12, 16, 128, true},
		{11, 16, 128, false},
		{0, 1 << 20, batch, false},
		{1 << 20, 1 << 20, batch, true},
		{44 << 20, 48 << 20, batch, true},
		{43 << 20, 48 << 20, batch, false},
	} {
		if got := near(tt.peak, tt.limit, tt.lag); got != tt.want {
			t.Errorf("%d of %d, which lags by %d: %v", tt.peak, tt.limit, tt.lag, got)
		}
	}
}

// TestStrikeKeepsCounts: what is refused while members are killed is no limit
// that the command reached, and who was there when it began is remembered.
func TestStrikeKeepsCounts(t *testing.T) {
	g := files(t, true, map[string]string{"pids.events": "max 3\n", "pids.current": "20", procs: ""})
	g.dirs = []string{g.parts[pids]}
	g.Strike()
	for name, text := range map[string]string{"pids.events": "max 99\n", "pids.current": "0"} {
		if err := os.WriteFile(filepath.Join(g.parts[pids], name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := g.Reached(); g.forks != 3 || len(got) != 1 {
		t.Errorf("%d refused, reached %+v", g.forks, got)
	}
}

func TestUsage(t *testing.T) {
	for name, tt := range map[string]struct {
		v2    bool
		files map[string]string
		want  fact.Usage
	}{
		"without any file": {true, nil, fact.Usage{User: 5, System: 7, MaxRSS: 9}},
		"v2": {
			true,
			map[string]string{"cpu.stat": "usage_usec 30\nuser_usec 10\nsystem_usec 20\nnr_throttled 3\nthrottled_usec 40\n", "memory.peak": "4096", "pids.peak": "6"},
			fact.Usage{User: 10 * time.Microsecond, System: 20 * time.Microsecond, Group: true, Throttled: 40 * time.Microsecond, MaxRSS: 9, PeakMemory: 4096, PeakProcesses: 6},
		},
		"v1": {
			false,
			map[string]string{"cpuacct.usage_user": "10", "cpuacct.usage_sys": "20", "cpu.stat": "nr_periods 4\nnr_throttled 3\nthrottled_time 40\n", "memory.max_usage_in_bytes": "8192", "pids.peak": "6"},
			fact.Usage{User: 10, System: 20, Group: true, Throttled: 40, MaxRSS: 9, PeakMemory: 8192, PeakProcesses: 6},
		},
	} {
		g := files(t, tt.v2, tt.files)
		got := fact.Usage{User: 5, System: 7, MaxRSS: 9}
		g.Usage(&got)
		if got != tt.want {
			t.Errorf("%s: got %+v, wanted %+v", name, got, tt.want)
		}
	}
}
