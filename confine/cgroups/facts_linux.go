package cgroups

import (
	"os"
	"runtime"
	"time"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// Reached lists the limits that were reached so far.
func (g *Group) Reached() []fact.Limit {
	var list []fact.Limit
	if g.outOfMemory() {
		list = append(list, fact.Limit{Kind: fact.LimitMemory, Value: uint64(g.limits.Memory)})
	}
	if g.outOfProcesses() {
		list = append(list, fact.Limit{Kind: fact.LimitProcesses, Value: uint64(g.limits.ProcessLimit())})
	}
	return list
}

// outOfMemory: a member was killed, and it was this group's limit that was hit.
// When the machine or a group above runs out of memory, kills are counted here as
// well (mm/oom_kill.c, __oom_kill_process).
func (g *Group) outOfMemory() bool {
	if g.v2[memory] {
		events := g.counters(memory, "memory.events")
		return events["oom_kill"] > 0 && events["oom"] > 0
	}
	return g.counters(memory, "memory.oom_control")["oom_kill"] > 0 && g.atLimit()
}

// atLimit reports whether the limit of version 1 was come up against. Newer
// kernels do not count that any more: memory.failcnt stayed 0 on Linux 6.18. What
// is charged at a time is at most 64 pages (MEMCG_CHARGE_BATCH).
func (g *Group) atLimit() bool {
	batch := uint64(64 * os.Getpagesize())
	for _, counter := range []string{"memory.", "memory.memsw."} { // the second is missing where swap is not counted
		if g.number(memory, counter+"failcnt") > 0 || near(g.number(memory, counter+"max_usage_in_bytes"), uint64(g.limits.Memory), batch) {
			return true
		}
	}
	return false
}

// near reports whether a peak that may be too low by lag was at the limit. Where
// the lag is much of the limit, or the peak is not known, it says no rather than
// yes.
func near(peak, limit, lag uint64) bool {
	return peak > 0 && peak+min(lag, limit/4) >= limit
}

// outOfProcesses: a fork was refused while about as many as are allowed were
// there. Before Linux 6.11, and in version 1 still, a fork that the limit of a
// group above refused is counted here too (kernel/cgroup/pids.c, pids_event). The
// peak is kept without a lock there, and may be too low by one for each processor.
// Before Linux 6.1 there is none: what counts is who was there at the first strike.
func (g *Group) outOfProcesses() bool {
	forks, present := g.refused()
	peak := max(g.number(pids, "pids.peak"), present)
	return forks > 0 && near(peak, uint64(g.limits.ProcessLimit()), uint64(runtime.NumCPU()))
}

// refused counts the forks that were refused before the first strike, and who was
// there then.
func (g *Group) refused() (forks, present uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.struck {
		g.forks, g.present = g.counters(pids, "pids.events")["max"], g.number(pids, "pids.current")
	}
	return g.forks, g.present
}

// Usage adds to u what the group knows.
func (g *Group) Usage(u *fact.Usage) {
	if stat := g.counters(unified, "cpu.stat"); len(stat) > 0 {
		u.User, u.System, u.Group = micro(stat["user_usec"]), micro(stat["system_usec"]), true
	} else if g.parts[cpuacct] != "" {
		u.User = time.Duration(g.number(cpuacct, "cpuacct.usage_user"))
		u.System = time.Duration(g.number(cpuacct, "cpuacct.usage_sys"))
		u.Group = true
	}
	throttle := g.counters(cpu, "cpu.stat")
	u.Throttled = micro(throttle["throttled_usec"]) + time.Duration(throttle["throttled_time"]) // version 2, 1
	peak := "memory.max_usage_in_bytes"
	if g.v2[memory] {
		peak = "memory.peak" // Linux 5.19
	}
	u.PeakMemory = g.number(memory, peak)
	u.PeakProcesses = int(g.number(pids, "pids.peak"))
}

func micro(n uint64) time.Duration { return time.Duration(n) * time.Microsecond }
