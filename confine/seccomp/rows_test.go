package seccomp

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// row is a call and what the design says of it: the errno where the program has
// any of the groups, the answers of groups that answer otherwise, else allowed.
// The rows are written from the design and not from the tables of rules.
type row struct {
	call string
	args [6]uint64
	want unix.Errno
	by   []Group
	or   map[Group]unix.Errno
}

// in returns what a program of the variant must answer.
func (r row) in(v Variant) unix.Errno {
	if slices.ContainsFunc(r.by, v.Has) {
		return r.want
	}
	for group, answer := range r.or {
		if v.Has(group) {
			return answer
		}
	}
	return allow
}

// refused makes a row of each list of arguments; without any, one of a call
// whose arguments do not matter.
func refused(by Group, want unix.Errno, calls string, lists ...[6]uint64) []row {
	if lists == nil {
		lists = [][6]uint64{{}, {1, 2, 3, 4, 5, 6}}
	}
	var rows []row
	for _, call := range strings.Fields(calls) {
		for _, args := range lists {
			rows = append(rows, row{call, args, want, []Group{by}, nil})
		}
	}
	return rows
}

// judged makes rows of calls on metadata, with what they get where nobody asks
// about them and nobody closes them: allow, or an errno.
func judged(left unix.Errno, calls string, lists ...[6]uint64) []row {
	rows := refused(MetadataClosed, unix.EACCES, calls, lists...)
	for i := range rows {
		rows[i].or = map[Group]unix.Errno{MetadataAsked: asked, SetID: left}
	}
	return rows
}

// metadataCalls are those that this architecture has.
func metadataCalls(t *testing.T) []string {
	t.Helper()
	const all = "chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat utimensat " +
		"setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr"
	calls := slices.DeleteFunc(strings.Fields(all), func(call string) bool {
		_, has := Number(call, nativeArch)
		return !has
	})
	if len(calls) < 12 {
		t.Fatalf("only %q", calls)
	}
	return calls
}

// allowed are calls next to refused ones that every program lets through.
func allowed(calls string, lists ...[6]uint64) []row {
	var rows []row
	for _, call := range strings.Fields(calls) {
		for _, args := range lists {
			rows = append(rows, row{call: call, args: args})
		}
	}
	return rows
}

type a = [6]uint64

const minusOne = 1<<64 - 1

// handRows lists the calls that are not ioctl or socket: those have rowsOfIoctl
// and rowsOfSocket.
func handRows() []row {
	return slices.Concat(kernelRows(), fileRows(), processRows(), groupRows(), ordinaryRows())
}

func kernelRows() []row {
	namespaces := []a{{0x20000}, {0x02000000}, {0x04000000}, {0x08000000}, {0x10000000}, {0x20000000}, {0x40000000}, {0x10020000}, {0x200 | 0x40000000}}
	return slices.Concat(
		refused(Base, unix.ENOSYS, "io_uring_setup io_uring_enter io_uring_register clone3 userfaultfd add_key request_key keyctl"),
		refused(Base, unix.ENOSYS, "setxattrat removexattrat open_tree_attr file_setattr"),
		refused(Base, unix.EPERM, "mount umount2 pivot_root move_mount open_tree fsopen fsconfig fsmount fspick mount_setattr chroot"),
		refused(Base, unix.EPERM, "bpf perf_event_open kexec_load kexec_file_load init_module finit_module delete_module reboot swapon swapoff acct quotactl quotactl_fd"),
		refused(Base, unix.EPERM, "clock_settime clock_adjtime adjtimex settimeofday sethostname setdomainname iopl ioperm modify_ldt syslog fanotify_init vhangup lookup_dcookie"),
		refused(Base, unix.EPERM, "kcmp process_madvise move_pages migrate_pages open_by_handle_at setns"),
		refused(Base, unix.EPERM, "unshare", append(namespaces, a{0x80})...),
		refused(Base, unix.EPERM, "clone", append(namespaces, a{0x8000}, a{0x8000 | 17})...),
		allowed("unshare", a{0}, a{0x400}, a{0x200}, a{0x40000}, a{0x600}),
		// fork, vfork, posix_spawn and pthread_create of glibc and musl
		allowed("clone", a{17}, a{0x1200011}, a{0x4111}, a{0x3d0f00}, a{0x7d0f00}, a{0x100 | 0x80}),
	)
}

func fileRows() []row {
	const creat, tmpfile = 0o100, 0o20200000
	return slices.Concat(
		refused(Base, unix.EPERM, "mknod", a{0, 0o020666, 259}, a{0, 0o060600, 2048}, a{0, 0o104755}, a{0, 0o102755}, a{0, 0o014600}),
		refused(Base, unix.EPERM, "mknodat", a{5, 0, 0o020666, 259}, a{5, 0, 0o060600, 2048}, a{5, 0, 0o104755}, a{5, 0, 0o102755}),
		refused(Base, unix.EPERM, "creat", a{0, 0o4755}, a{0, 0o2755}, a{0, 0o6777}),
		refused(Base, unix.EPERM, "open", a{0, creat | 1, 0o4755}, a{0, creat | 2, 0o2755}, a{0, tmpfile | 2, 0o4700}, a{0, tmpfile | 2, 0o2700}, a{0, creat | tmpfile | 2, 0o6700}),
		refused(Base, unix.EPERM, "openat", a{5, 0, creat | 1, 0o4755}, a{5, 0, creat | 2, 0o2755}, a{5, 0, tmpfile | 2, 0o4700}, a{5, 0, tmpfile | 2, 0o2700}),
		allowed("mknod", a{0, 0o010644}, a{0, 0o100644}, a{0, 0o140755}, a{0, 0o644}, a{0, 0o101777}),
		allowed("mknodat", a{5, 0, 0o010644}, a{5, 0, 0o100644}, a{5, 0, 0o140755}, a{5, 0, 0o101777}),
		allowed("creat", a{0, 0o644}, a{0, 0o1777}),
		allowed("open", a{0, creat | 1, 0o644}, a{0, 0, 0o4755}, a{0, tmpfile | 2, 0o600}, a{0, 0o1001 | creat, 0o666}, a{0, 0o1002}, a{0, 0o10000000}),
		allowed("openat", a{5, 0, creat | 1, 0o644}, a{5, 0, 0, 0o6755}, a{5, 0, tmpfile | 2, 0o600}, a{5, 0, 0o1001 | creat, 0o666}, a{5, 0, 0o1002}),
	)
}

func processRows() []row {
	const limit = 0x7fff00001000
	return slices.Concat(
		refused(Base, idle, "setrlimit", a{4, limit}),
		refused(Base, idle, "prlimit64", a{0, 4, limit}, a{0, 4, limit, limit}),
		refused(Base, unix.EPERM, "prlimit64", a{1, 7, limit}, a{minusOne, 7, limit}, a{1234, 4, limit}),
		allowed("setrlimit", a{7, limit}, a{0, limit}, a{0x10004, limit}),
		allowed("prlimit64", a{0, 7, limit}, a{0, 4, 0, limit}, a{1234, 7, 0, limit}, a{0, 3, limit, limit}),
		refused(Base, unix.EPERM, "setpriority", a{0, 1, 10}, a{1, 1234, 10}, a{2, 0, 10}, a{2, 1000, 10}, a{0, minusOne, 1}),
		refused(Base, unix.EPERM, "ioprio_set", a{1, 1, 0x6000}, a{2, 77, 0x6000}, a{3, 0, 0x6000}, a{3, 1000, 0x6000}),
		allowed("setpriority", a{0, 0, 10}, a{1, 0, 10}),
		allowed("ioprio_set", a{1, 0, 0x6000}, a{2, 0, 0x6000}),
		allowed("getpriority ioprio_get", a{2, 1000}, a{0, 1}),
		refused(Base, unix.EPERM, "sched_setaffinity sched_setscheduler sched_setparam sched_setattr", a{1}, a{1234, 8, limit}, a{minusOne}),
		allowed("sched_setaffinity sched_setscheduler sched_setparam sched_setattr", a{0, 8, limit}),
		allowed("sched_getaffinity sched_getattr", a{1234, 8, limit}),
	)
}

func groupRows() []row {
	return slices.Concat(
		refused(MetadataAsked, unix.EBUSY, "seccomp", a{1, 8, 0x7fff00001000}, a{1, 0x28, 0x7fff00001000}, a{1, 0x1_00000009}, a{1, minusOne}),
		allowed("seccomp", a{1, 0, 0x7fff00001000}, a{1, 1, 0x7fff00001000}, a{1, 0x20}, a{0}, a{2, 0, 0x7fff00001000}, a{3}),
		refused(IPC, unix.EPERM, "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl"),
		refused(IPC, unix.EPERM, "mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr"),
		[]row{{"openat2", a{5, 1, 1, 24}, unix.ENOSYS, []Group{Base}, nil}},
		refused(SocketsClosed, unix.EACCES, "connect"),
		metadataRows(),
		refused(Truncate, unix.EACCES, "truncate"),
		refused(Truncate, unix.EACCES, "open", a{0, 0o1000}, a{0, 0o1003}, a{0, 0o1100, 0o644}, a{0, 0o1103, 0o644}, a{0, 0o2001000}),
		refused(Truncate, unix.EACCES, "openat", a{5, 0, 0o1000}, a{5, 0, 0o1003}, a{5, 0, 0o1100, 0o644}, a{5, 0, 0o1103, 0o644}),
		refused(Signals, unix.EPERM, "fcntl", a{3, 8, 1234}, a{3, 15, 1}),
		refused(Signals, unix.EPERM, "kill", a{1234, 9}, a{1, 0}, a{minusOne, 9}, a{minusOne - 1000, 15}),
		refused(Signals, unix.EPERM, "tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal"),
		allowed("kill", a{0, 15}),
		[]row{
			{"fcntl", a{3, 1036, 1}, unix.EPERM, []Group{MetadataClosed, MetadataAsked}, nil},
			{"fcntl", a{3, 1038, 1}, unix.EPERM, []Group{MetadataClosed, MetadataAsked}, nil},
		},
		allowed("fcntl", a{3, 1035, 1}, a{3, 1037, 1}, a{3, 1}, a{3, 2, 1}, a{3, 3}, a{3, 4, 0o4000}, a{3, 9}, a{3, 10, 9}, a{3, 16}, a{3, 1030}, a{3, 38}, a{3, 0x10008}),
	)
}

// metadataRows have set-id bits in the mode, beside it, and in the arguments of
// calls that have no mode. 0o7777 in the first or third argument is a pointer, a
// descriptor or a flag.
func metadataRows() []row {
	return slices.Concat(
		judged(allow, "chown lchown fchown fchownat utime utimes futimesat utimensat", a{}, a{0o7777, 0o6000, 0o6755, 0o6000, 0o6000, 0o6000}),
		judged(allow, "setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr", a{}, a{0o7777, 0o6000, 0o6755, 0o6000, 0o6000}),
		judged(allow, "chmod fchmod", a{}, a{0, 0o644}, a{0, 0o1777}, a{0o7777, 0o755, 0o6755}, a{0, 0o101777}, a{0, minusOne &^ 0o6000}),
		judged(unix.EPERM, "chmod fchmod", a{0, 0o4755}, a{0, 0o2755}, a{0, 0o6777}, a{3, 0o4000}, a{3, 0o2000}, a{0, 0o107777}, a{0, minusOne}, a{0, 1<<16 | 0o4711}),
		judged(allow, "fchmodat fchmodat2", a{}, a{5, 1, 0o644, 0x6000}, a{5, 1, 0o1777}, a{0o7777, 0o6755, 0o755, 0o6755}, a{5, 1, minusOne &^ 0o6000}),
		judged(unix.EPERM, "fchmodat fchmodat2", a{5, 1, 0o4755}, a{5, 1, 0o2755, 0x100}, a{5, 1, 0o6777}, a{5, 1, 0o4000}, a{5, 1, 0o2000}, a{5, 1, 0o107777}, a{5, 1, minusOne}, a{5, 1, 1<<16 | 0o2711}),
	)
}

// ordinaryRows are calls that must work whatever the groups are, among them
// those whose processes Landlock holds.
func ordinaryRows() []row {
	any := []a{{}, {3, 0x7fff00000000, 4096, 0, 0, 0}}
	return slices.Concat(
		allowed("read write close mmap munmap mprotect brk futex execve execveat exit_group wait4 getpid rt_sigaction rt_sigprocmask", any...),
		allowed("bind listen accept accept4 sendto sendmsg sendmmsg recvfrom recvmsg setsockopt getsockopt shutdown getsockname", any...),
		allowed("ptrace process_vm_readv process_vm_writev seccomp prctl personality memfd_create pidfd_open pidfd_getfd", any...),
		allowed("landlock_create_ruleset landlock_add_rule landlock_restrict_self set_mempolicy_home_node cachestat futex_wait listxattrat getxattrat file_getattr statmount mseal", any...),
		allowed("mkdirat unlinkat renameat2 linkat symlinkat ftruncate fallocate fchdir flock getxattr lgetxattr listxattr statx newfstatat faccessat2", any...),
		allowed("timerfd_create inotify_init1 epoll_create1 eventfd2 getrlimit getrandom sysinfo uname capget capset setuid setgroups umask", any...),
	)
}
