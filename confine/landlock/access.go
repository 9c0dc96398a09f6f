package landlock

import (
	"strings"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// Access is a set of Landlock file system access rights.
type Access uint64

// Single rights, for questions about a set of rules.
const (
	Execute    Access = ll.AccessFSExecute
	ReadFile   Access = ll.AccessFSReadFile
	WriteFile  Access = ll.AccessFSWriteFile
	MakeFile   Access = ll.AccessFSMakeReg
	RemoveFile Access = ll.AccessFSRemoveFile
	Truncate   Access = ll.AccessFSTruncate
	// IoctlDevice is the right to control a device file.
	IoctlDevice Access = ll.AccessFSIoctlDev
)

// The sets that rules are made of. Ruleset narrows each to what the kernel
// handles and to what the kind of file can carry.
const (
	// List lets a directory be listed.
	List Access = ll.AccessFSReadDir
	// Read lets files be read and executed and directories listed.
	Read = List | ll.AccessFSExecute | ll.AccessFSReadFile
	// Device lets a device file be read, written and controlled.
	Device Access = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev
	// Write lets everything be changed, except that no device node can be made:
	// through one, root would reach the raw disk. Nor does it carry IoctlDev,
	// for a root that already holds device nodes. Refer must be asked for, else
	// link and rename between directories give EXDEV.
	Write = Read | ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile |
		ll.AccessFSMakeDir | ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo |
		ll.AccessFSMakeSym | ll.AccessFSRefer | ll.AccessFSTruncate
)

// fileRights are the rights that a rule on something other than a directory
// can carry; the kernel answers EINVAL to the others (security/landlock/fs.c,
// ACCESS_FILE).
const fileRights Access = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSWriteFile |
	ll.AccessFSTruncate | ll.AccessFSIoctlDev

// NewestABI is the newest Landlock ABI whose rights this project has read.
// A newer kernel is asked for these and no more.
const NewestABI = 7

// accessNames holds the kernel's names, bit by bit.
var accessNames = []string{
	"execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file",
	"make_char", "make_dir", "make_reg", "make_sock", "make_fifo", "make_block",
	"make_sym", "refer", "truncate", "ioctl_dev",
}

// Has reports whether a holds every right of b.
func (a Access) Has(b Access) bool { return a&b == b }

// String lists the rights by the kernel's names.
func (a Access) String() string {
	var names []string
	for i, name := range accessNames {
		if a.Has(1 << i) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}

// HandledFS returns the file system rights that a kernel of that ABI can govern.
func HandledFS(abi int) Access {
	handled := Access(ll.AccessFSRefer - 1) // every right that is older
	if abi >= 2 {
		handled |= ll.AccessFSRefer
	}
	if abi >= 3 {
		handled |= ll.AccessFSTruncate
	}
	if abi >= 5 {
		handled |= ll.AccessFSIoctlDev
	}
	return handled
}

// attr is the ruleset that handles all that an ABI can. Scopes keep signals
// and abstract sockets inside the domain. Where the network is denied, TCP ports
// are handled and none is granted.
func attr(abi int, network policy.Network) ll.RulesetAttr {
	a := ll.RulesetAttr{HandledAccessFS: uint64(HandledFS(abi))}
	if abi >= 4 && network != policy.NetworkAllow {
		a.HandledAccessNet = ll.AccessNetBindTCP | ll.AccessNetConnectTCP
	}
	if abi >= 6 {
		a.Scoped = ll.ScopeSignal | ll.ScopeAbstractUnixSocket
	}
	return a
}
