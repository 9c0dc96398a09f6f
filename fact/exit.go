package fact

// Exit is how a command ended.
type Exit struct {
	// Code is the exit status, 0 to 255. For a command that a signal killed it
	// is 128 plus the signal's number, as a shell reports it.
	Code int `json:"code"`
	// Signal is the name of the signal that killed the command, such as
	// "SIGTERM"; empty when it exited by itself.
	Signal string `json:"signal"`
	// TimedOut says that our own timer fired first, however the command then
	// ended. A command's own exit status 124 is not a timeout.
	TimedOut bool `json:"timedOut"`
	// Aborted says that the caller stopped the run before anything else did.
	Aborted bool `json:"aborted"`
}

// Failed reports whether the command did not end well by itself.
func (e Exit) Failed() bool { return e.Code != 0 || e.Signal != "" }
