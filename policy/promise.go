package policy

// Promise names one row of the promise table: one thing that a confining mode
// says a command cannot do. The README has the table.
type Promise string

// The promises, in the order in which reports list them.
const (
	PromiseFiles         Promise = "files"          // write, create, delete, rename, link, device nodes
	PromiseTruncate      Promise = "truncate"       // truncate(2) and O_TRUNC
	PromiseIoctl         Promise = "ioctl"          // file-system and device ioctls
	PromiseMetadata      Promise = "metadata"       // mode, owner, times, attributes, flags
	PromiseSetID         Promise = "setid"          // set-id bits, file capabilities
	PromiseProcesses     Promise = "processes"      // memory, descriptors, environment and ptrace of others
	PromiseSignals       Promise = "signals"        // signals, priorities and affinity of others
	PromiseUnixSockets   Promise = "unix-sockets"   // pathname and abstract stream sockets
	PromiseUnixDatagrams Promise = "unix-datagrams" // datagram and raw unix sockets
	PromiseNetwork       Promise = "network"        // every other socket family
	PromiseKernel        Promise = "kernel"         // mounts, namespaces, bpf, keyrings, io_uring and the like
	PromiseIsolation     Promise = "isolation"      // privileges, inherited descriptors, environment, terminals
	PromiseTree          Promise = "tree"           // the whole process tree dies when it must
	PromiseLimits        Promise = "limits"         // memory, processes, processor time
)

// Promises lists every promise in the order of the table.
func Promises() []Promise {
	return []Promise{
		PromiseFiles, PromiseTruncate, PromiseIoctl, PromiseMetadata, PromiseSetID, PromiseProcesses, PromiseSignals,
		PromiseUnixSockets, PromiseUnixDatagrams, PromiseNetwork, PromiseKernel, PromiseIsolation, PromiseTree, PromiseLimits,
	}
}

// ParseChoice returns the promise of that name if a policy can close it or go
// without it, or an *InputError. Only those can be chosen whose absence would
// keep a command from running.
func ParseChoice(name string) (Promise, error) {
	return parseOption("promise", name, PromiseMetadata)
}
