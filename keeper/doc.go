// Package keeper owns the processes of commands: it starts helpers, hands them
// their plans, watches the commands they become, kills and reaps them, and holds
// the control group of each run.
//
// It is one role that lives on a socket. Whoever wants commands run holds the
// other end; at end of file the keeper kills what is left, reaps it and ends.
// Start runs it in this process; the protocol is what will let it move out.
//
// It does not decide what a command may do, and it never looks at output.
package keeper
