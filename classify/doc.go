// Package classify tells which file accesses the sandbox denied to a command
// that has finished, from the text that the command printed.
//
// It opens no file and runs nothing: whatever it wants to know about a path it
// asks through [Files]. It does not look for refusals of metadata, processes or
// the network, and it does not read a log as such: text alone cannot tell a
// refusal from a copy of one, so a denial needs a policy that refuses the
// access and ordinary permissions that allow it.
package classify
