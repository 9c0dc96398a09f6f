package seccomp

import "golang.org/x/sys/unix"

// kernelClauses close what changes the kernel, its name spaces or its clock, and
// the ways around a filter.
func kernelClauses() []clause {
	return []clause{
		{unix.ENOSYS, "io_uring makes calls that no filter sees", "io_uring_setup io_uring_enter io_uring_register", nil},
		{unix.ENOSYS, "its flags are behind a pointer; ENOSYS makes C libraries fall back to clone, EPERM breaks the threads of Python, Node and Java", "clone3", nil},
		{unix.ENOSYS, "it stops the kernel in the middle of a copy, the way most exploits of races are won", "userfaultfd", nil},
		{unix.ENOSYS, "keyrings belong to the user and not to a process, and hold other programs' secrets", "add_key request_key keyctl", nil},
		{unix.EPERM, "a mount makes paths mean other files than those that Landlock rules were laid on", "mount umount2 pivot_root move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr chroot", nil},
		{unix.ENOSYS, "open_tree with attributes: a mount call that is newer than the others", "open_tree_attr", nil},
		{unix.EPERM, "a new name space gives every privilege inside it, and with them the kernel's least tested code", "unshare", anyOf(namespaceBits()...)},
		{unix.EPERM, "a new name space, as in unshare; CLONE_NEWTIME lies in the byte that is clone's exit signal", "clone", anyOf(cloneNamespaceBits()...)},
		{unix.EPERM, "the child would be its parent's sibling, outside the tree that is killed", "clone", anyOf(has(0, unix.CLONE_PARENT))},
		{unix.EPERM, "another process's name space", "setns", nil},
		{unix.EPERM, "programs in the kernel, and its counters, which tell other processes' doings", "bpf perf_event_open", nil},
		{unix.EPERM, "another kernel, or more of this one", "kexec_load kexec_file_load init_module finit_module delete_module", nil},
		{unix.EPERM, "they act on the whole machine", "reboot swapon swapoff acct quotactl quotactl_fd syslog vhangup", nil},
		{unix.EPERM, "the machine's clock", "clock_settime clock_adjtime adjtimex settimeofday", nil},
		{unix.EPERM, "the machine's name", "sethostname setdomainname", nil},
		{unix.EPERM, "hardware ports, and descriptor tables that confuse the kernel's entry code", "iopl ioperm modify_ldt", nil},
		{unix.EPERM, "they tell or open files by something other than a path, past every rule on paths", "fanotify_init lookup_dcookie open_by_handle_at", nil},
	}
}

// namespaceBits are the flags of unshare. Those that are not here, such as
// CLONE_FILES and CLONE_FS, only undo sharing between threads.
func namespaceBits() []Cond {
	return append(cloneNamespaceBits(), has(0, unix.CLONE_NEWTIME))
}

func cloneNamespaceBits() []Cond {
	return []Cond{
		has(0, unix.CLONE_NEWNS), has(0, unix.CLONE_NEWCGROUP), has(0, unix.CLONE_NEWUTS),
		has(0, unix.CLONE_NEWIPC), has(0, unix.CLONE_NEWUSER), has(0, unix.CLONE_NEWPID),
		has(0, unix.CLONE_NEWNET),
	}
}

// setID is why no file gets a set-id bit.
const setID = "a program with a set-id bit runs as the user, unconfined, for whoever executes it"

// fileClauses close device nodes and set-id bits, and the calls that are too new
// for anything else to govern them.
func fileClauses() []clause {
	const device = "a device node would reach the disk or the memory behind it"
	return []clause{
		{unix.EPERM, device, "mknod", anyOf(kind(1, unix.S_IFCHR), kind(1, unix.S_IFBLK))},
		{unix.EPERM, device, "mknodat", anyOf(kind(2, unix.S_IFCHR), kind(2, unix.S_IFBLK))},
		{unix.EPERM, setID, "creat mknod", anyOf(has(1, setUID), has(1, setGID))},
		{unix.EPERM, setID, "mknodat", anyOf(has(2, setUID), has(2, setGID))},
		{unix.EPERM, setID + "; the mode counts only where a file is made", "open", setIDWhereMade(1, 2)},
		{unix.EPERM, setID + "; the mode counts only where a file is made", "openat", setIDWhereMade(2, 3)},
		{unix.ENOSYS, "its flags and its mode are behind a pointer: a set-id bit could hide there; callers fall back to openat", "openat2", nil},
		{unix.ENOSYS, "they change attributes and flags, which Landlock does not govern", "setxattrat removexattrat file_setattr", nil},
	}
}

// kind holds for a mode of one file type.
func kind(arg int, format uint64) Cond { return under(arg, unix.S_IFMT, format) }

// setIDWhereMade holds for a set-id bit in a mode that the flags make the kernel
// use.
func setIDWhereMade(flags, mode int) [][]Cond {
	either := anyOf(has(mode, setUID), has(mode, setGID))
	return append(
		with(either, has(flags, unix.O_CREAT)),
		with(either, has(flags, oTmpfile))...,
	)
}

// processClauses close what reaches other processes of the same user: Landlock
// governs their memory and their signals, and none of these.
func processClauses() []clause {
	const other = "it reaches other processes of the user; 0 is the caller"
	return []clause{
		{unix.EPERM, "they compare, advise on or move the memory of other processes", "kcmp process_madvise move_pages migrate_pages", nil},
		{nothing, "the limit stays 1, which means no core at all: 0 starts a core handler outside. Success, because PAM opens no session for su, and gpg keeps no secret, where this fails", "setrlimit", anyOf(is(0, unix.RLIMIT_CORE))},
		{nothing, "a core file, as in setrlimit; without a new limit the call only reads", "prlimit64", allOf(is(0, 0), is(1, unix.RLIMIT_CORE), differs(2, 0))},
		{unix.EPERM, other + "; without a new limit the call only reads", "prlimit64", allOf(differs(0, 0), differs(2, 0))},
		{unix.EPERM, other, "setpriority ioprio_set", anyOf(differs(1, 0))},
		{unix.EPERM, "every process of the user at once", "setpriority", anyOf(is(0, prioUser))},
		{unix.EPERM, "every process of the user at once", "ioprio_set", anyOf(is(0, ioprioUser))},
		{unix.EPERM, other, "sched_setaffinity sched_setscheduler sched_setparam sched_setattr", anyOf(differs(0, 0))},
	}
}
