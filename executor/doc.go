// Package executor runs commands under a policy and reports plain facts.
//
// A Request says what the caller wants; Resolve turns it into a Spec in which
// everything is explicit; Run runs a Spec and returns a Result. A result, also
// of a command that failed, is never an error: an error means that the command
// did not run, or that its end could not be learned.
//
// The package renders nothing for a model (package tool does) and it reads no
// environment: Config.Environ is handed in.
package executor
