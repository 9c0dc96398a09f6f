// Package confine turns a Job into a Plan, and executes plans.
//
// A plan is data: an ordered list of system calls, each with a name and a
// reason. All the thinking happens in Prepare, in the caller's process; the
// helper, this same binary executed again, performs the list on its own thread
// and ends in execve. The calling process is never confined.
//
// The package does not start the helper, does not wait for it and does not
// know what the command did: package keeper does.
package confine
