package policy

// Promise names one row of the promise table: one thing that a confining mode
// says a command cannot do. The README has the table.
type Promise string

// The promises, in the order in which reports list them.
const (
	Files         Promise = "files"          // write, create, delete, rename, link, device nodes
	Truncate      Promise = "truncate"       // truncate(2) and O_TRUNC
	Ioctl         Promise = "ioctl"          // file-system and device ioctls
	Metadata      Promise = "metadata"       // mode, owner, times, attributes, flags
	SetID         Promise = "setid"          // set-id bits, file capabilities
	Processes     Promise = "processes"      // memory, descriptors, environment and ptrace of others
	Signals       Promise = "signals"        // signals, priorities and affinity of others
	UnixSockets   Promise = "unix-sockets"   // pathname and abstract stream sockets
	UnixDatagrams Promise = "unix-datagrams" // datagram and raw unix sockets
	Network       Promise = "network"        // every other socket family
	Kernel        Promise = "kernel"         // mounts, namespaces, bpf, keyrings, io_uring and the like
	Isolation     Promise = "isolation"      // privileges, inherited descriptors, environment, terminals
	Tree          Promise = "tree"           // the whole process tree dies when it must
	Limits        Promise = "limits"         // memory, processes, processor time
)

// Promises lists every promise in the order of the table.
func Promises() []Promise {
	return []Promise{
		Files, Truncate, Ioctl, Metadata, SetID, Processes, Signals,
		UnixSockets, UnixDatagrams, Network, Kernel, Isolation, Tree, Limits,
	}
}
