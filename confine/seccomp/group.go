package seccomp

import "fmt"

// Group is a set of rules that a filter has as a whole or not at all.
type Group uint8

// The groups. Their names are part of the names of the embedded programs.
const (
	// Base is in every filter: mounts, namespaces, privileged calls, device
	// nodes, set-id bits, other processes' limits and priorities, ioctls.
	Base Group = iota
	// IPC closes System V IPC and POSIX message queues: their objects belong to
	// the user and not to a process, so nothing keeps a command to its own.
	IPC
	// NetDeny leaves unix sockets and the routing table's netlink.
	NetDeny
	// NetAllow adds the TCP, UDP and ping sockets.
	NetAllow
	// SocketsClosed closes connect, where nobody can tell a connection to the
	// command's own sockets from one that leads out.
	SocketsClosed
	// Unix closes the unix sockets that send without connecting, which Landlock
	// does not see below ABI 9.
	Unix
	// MetadataClosed closes the calls that change modes, owners, times and
	// attributes, which Landlock does not govern.
	MetadataClosed
	// MetadataAsked asks the broker about each of them. It is the broker that
	// keeps set-id bits away there.
	MetadataAsked
	// SetID closes only the set-id bits in the calls that change a mode, where
	// the others are left alone.
	SetID
	// Truncate closes the ways to truncate that Landlock does not see below
	// ABI 3.
	Truncate
	// Signals closes the ways to signal others that Landlock does not see below
	// ABI 6.
	Signals
)

var groupNames = []string{
	"base", "ipc", "net-deny", "net-allow", "sockets-closed",
	"unix", "metadata-closed", "metadata-asked", "setid", "truncate", "signals",
}

// Groups lists every group.
func Groups() []Group {
	var groups []Group
	for i := range groupNames {
		groups = append(groups, Group(i))
	}
	return groups
}

// String returns the group's name.
func (g Group) String() string {
	if int(g) >= len(groupNames) {
		return fmt.Sprintf("group(%d)", uint8(g))
	}
	return groupNames[g]
}
