package seccomp

import (
	"golang.org/x/sys/unix"
)

// ipcClauses keep a command away from objects that every process of the user
// shares: System V IPC, and message queues, which have no path for Landlock.
func ipcClauses() []clause {
	return []clause{
		{unix.EPERM, "System V IPC belongs to the user: any of its objects can be opened, changed and removed by key", "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl", nil},
		{unix.EPERM, "POSIX message queues lie in a file system of their own that is not mounted, where no rule on paths reaches", "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr", nil},
	}
}

// metadataClauses give one answer to all that changes what an inode says of its
// file: ask, or EACCES as for a read-only file. The hint is never asked about:
// it is not worth a broker's time, and fcntl is called too often to be stopped.
func metadataClauses(answer unix.Errno) []clause {
	const why = "Landlock does not govern it, and a file outside the roots must not change"
	return []clause{
		{answer, "modes: " + why, "chmod fchmod fchmodat fchmodat2", nil},
		{answer, "owners: " + why, "chown lchown fchown fchownat", nil},
		{answer, "times: " + why, "utime utimes futimesat utimensat", nil},
		{unix.EPERM, "a hint about a file's life, kept with its inode: " + why, "fcntl", anyOf(is(1, fSetRWHint), is(1, fSetFileRWHint))},
		{answer, "attributes: " + why, "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr", nil},
	}
}

// listenerClauses keep the broker the only one who is asked. The kernel allows a
// chain of filters one listener, but only while that is open: when the broker is
// gone a later filter of the command's would be asked instead, and its listener
// could let the calls through.
func listenerClauses() []clause {
	return []clause{
		{unix.EBUSY, "a listener of the command's own would answer for the broker when that is gone", "seccomp", anyOf(has(1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER))},
	}
}

// setIDClauses look at nothing but the mode, so they refuse the bits on
// directories too, where they are harmless.
func setIDClauses() []clause {
	return []clause{
		{unix.EPERM, setID, "chmod fchmod", anyOf(has(1, setUID), has(1, setGID))},
		{unix.EPERM, setID, "fchmodat fchmodat2", anyOf(has(2, setUID), has(2, setGID))},
	}
}

func truncateClauses() []clause {
	return []clause{
		{unix.EACCES, "O_TRUNC without write access: Landlock sees no write; access mode 3 truncated a file outside", "open", truncating(1)},
		{unix.EACCES, "O_TRUNC without write access: Landlock sees no write; access mode 3 truncated a file outside", "openat", truncating(2)},
		{unix.EACCES, "Landlock governs it from ABI 3 on", "truncate", nil},
	}
}

// truncating holds for O_TRUNC with an access mode that is neither O_WRONLY nor
// O_RDWR: O_RDONLY, and 3, which opens for nothing and truncates all the same.
func truncating(flags int) [][]Cond {
	const mask = unix.O_TRUNC | unix.O_ACCMODE
	return anyOf(
		under(flags, mask, unix.O_TRUNC|unix.O_RDONLY),
		under(flags, mask, unix.O_TRUNC|unix.O_ACCMODE),
	)
}

func signalClauses() []clause {
	const owner = "it names who gets SIGIO, or any signal that F_SETSIG asks for: SIGKILL reached a process outside"
	return []clause{
		{unix.EPERM, owner, "fcntl", anyOf(is(1, unix.F_SETOWN), is(1, unix.F_SETOWN_EX))},
		{unix.EPERM, owner, "ioctl", anyOf(command(fiosetown), command(siocspgrp))},
		{unix.EPERM, "another process; 0 is the caller's own group", "kill", anyOf(differs(0, 0))},
		{unix.EPERM, "another process: the number of a thread does not say whose it is", "tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal", nil},
	}
}
