// Package cgroups holds one run in a control group: its limits, which of them
// were reached, what was used, and the death of every member.
//
// Find looks for a place where this process may make groups, and New makes one
// there. It writes to nothing but groups of its own making, and, in a subtree
// that was handed over by name or is a scope of ours (Scope), to that directory's
// cgroup.subtree_control; it never moves the calling process. It does not start processes and does not know
// what a run is: package keeper does.
//
// Files and rules: https://docs.kernel.org/admin-guide/cgroup-v2.html and
// https://docs.kernel.org/admin-guide/cgroup-v1/
package cgroups
