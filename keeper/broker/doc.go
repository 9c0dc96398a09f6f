// Package broker answers the system calls of one run that neither a rule on
// paths nor a filter can judge: those that change mode, owner, times and
// attributes. The kernel holds the caller while its filter's listener asks
// (seccomp_unotify(2)).
//
// A call is never let through. The broker finds the file that the caller names,
// pins it, proves that it lies beneath a writable root, and then makes the call
// itself, on the pin and with the caller's identity. Whatever the caller changes
// meanwhile, its memory, its directory or a symlink, changes nothing any more.
//
// It decides nothing about other calls and starts no processes. Without it the
// kernel answers ENOSYS to the calls that it was to judge.
package broker
