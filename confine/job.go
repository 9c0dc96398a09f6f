package confine

import (
	"os"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Job is one command with everything about it decided.
type Job struct {
	// Policy is canonical.
	Policy policy.Policy
	// Program is the absolute path of what is executed; Argv and Env are what
	// it gets, Argv[0] included.
	Program string
	Argv    []string
	Env     []string
	// Dir is the directory it starts in, absolute and free of symlinks.
	Dir string
	// Scratch is its scratch directory; empty for none.
	Scratch string
	// Proof is a file of ours that the caller can write and that lies in no
	// writable root. A confined helper must fail to open it for writing.
	Proof string
	// Tree is why not all descendants of the command are killed at its end; nil
	// where they are.
	Tree error
	// Broker says whether a broker can judge calls for the command.
	Broker Broker
	// Group is what the run's control group holds.
	Group Group
	// Stdin, Stdout and Stderr become descriptors 0, 1 and 2. The caller keeps
	// them and closes them.
	Stdin, Stdout, Stderr *os.File
}
