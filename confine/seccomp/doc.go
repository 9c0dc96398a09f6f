// Package seccomp holds the rules of the system call filter, the compiled
// programs, and the choice of the program that a policy needs on a kernel.
//
// It installs nothing and needs no C: libseccomp compiled the programs when
// they were generated (package compile, a module of its own), and they lie here
// as bytes. A policy that confines nothing has no program, and asking for one is
// an error.
//
// After a change to the rules: go generate ./confine/seccomp
package seccomp

//go:generate go run -C compile .
