// Package policy holds what a caller asks for: the mode, the roots, the
// options and the promises, with their validation and their canonical form.
//
// It does not decide how a policy is held (package confine does) and it knows
// nothing of the running kernel.
package policy
