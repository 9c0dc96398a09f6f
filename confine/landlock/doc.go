// Package landlock turns a policy into one Landlock ruleset for the running
// kernel: which rules there are is a pure function, opening the files and
// filling the ruleset is one short act.
//
// It never weakens a ruleset in silence. What the kernel cannot handle is not
// in the set that it reports, and where Landlock is missing, blocked from
// outside or inert there is an error and no ruleset.
//
// Rights, rules and domains: https://docs.kernel.org/userspace-api/landlock.html
package landlock
