package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Table returns every rule of every group. It is the one place where a rule is
// written down; the programs, the tests and explain come from it.
func Table() []Rule {
	return slices.Concat(
		expand(Base, kernelClauses()),
		expand(Base, fileClauses()),
		expand(Base, processClauses()),
		expand(Base, ioctlClauses()),
		expand(IPC, ipcClauses()),
		expand(NetDeny, netDenyClauses()),
		expand(NetAllow, netAllowClauses()),
		expand(SocketsClosed, socketsClosedClauses()),
		expand(Unix, unixClauses()),
		expand(MetadataClosed, metadataClauses(unix.EACCES)),
		expand(MetadataAsked, metadataClauses(ask)),
		expand(MetadataAsked, listenerClauses()),
		expand(SetID, setIDClauses()),
		expand(Truncate, truncateClauses()),
		expand(Signals, signalClauses()),
	)
}

// ask is the answer of a clause that the broker answers.
const ask = AskBroker

// nothing is the answer of a clause whose call succeeds and does nothing.
const nothing unix.Errno = 0

// Numbers of the kernel's headers that golang.org/x/sys/unix does not have, or
// has with other bits on each architecture. These are the same on both.
const (
	oTmpfile = 0o20000000 // __O_TMPFILE; unix.O_TMPFILE has O_DIRECTORY in it
	setUID   = 0o4000
	setGID   = 0o2000

	prioUser   = 2 // PRIO_USER
	ioprioUser = 3 // IOPRIO_WHO_USER

	tioclinux = 0x541c
	tioccons  = 0x541d
	fiosetown = 0x8901
	siocspgrp = 0x8902

	fSetRWHint     = 1036 // F_SET_RW_HINT
	fSetFileRWHint = 1038 // F_SET_FILE_RW_HINT

	sockTypeMask = 0xf // SOCK_TYPE_MASK: the rest of the argument is flags
)
