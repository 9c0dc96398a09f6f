package integration

import (
	"fmt"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
)

// victimHand lists calls that do nothing without the filter, as root neither.
// Most have an argument that the kernel refuses before it asks for a privilege,
// so that an ordinary user proves the rule too.
const victimHand = `
io_uring_setup 0 zeros
io_uring_enter -1
io_uring_register -1
clone3
userfaultfd 0x10
add_key
request_key
keyctl 9999
mount missing missing name
umount2 missing
pivot_root missing missing
move_mount -1 missing -1 missing 0
open_tree -100 missing 2
fsopen name 0xff00
fsconfig -1
fsmount -1 0xff00
fspick -100 missing 0xff00
mount_setattr -100 missing 0x40000000
chroot missing
open_tree_attr -100 missing 2
setns -1
bpf 0 zeros 8192
perf_event_open zeros 0 -1 -1 0x100000
kexec_load 0 0 0 0xfff0
kexec_file_load -1 -1 0 0 0xfff0
init_module zeros 0 zeros
finit_module -1 zeros 0xfff0
delete_module missing
reboot
swapon missing 0x40000000
swapoff missing
acct missing
quotactl 99 missing
quotactl_fd -1 99
syslog 99
vhangup
clock_settime 99 zeros
clock_adjtime 99 zeros
adjtimex zeros
settimeofday ones
sethostname missing 1000
setdomainname missing 1000
iopl 4
ioperm 0x100000 1
modify_ldt 0 zeros 16
fanotify_init 0x100200
lookup_dcookie
open_by_handle_at -100 zeros
mknod missing 0020600 259
mknod missing 0060600 1792
mknod missing 0104755
mknod missing 0102755
mknodat -100 missing 0020600 259
mknodat -100 missing 0060600 1792
mknodat -100 missing 0104755
mknodat -100 missing 0102755
creat missing 04755
creat missing 02755
open missing 0101 04755
open missing 0101 02755
open missing 020200002 04700
open missing 020200002 02700
openat -100 missing 0101 04755
openat -100 missing 0101 02755
openat -100 missing 020200002 04700
openat -100 missing 020200002 02700
setxattrat -100 missing 0xffff
removexattrat -100 missing 0xffff attribute
file_setattr -100 missing zeros 0 0
kcmp self self 99
process_madvise -1 zeros 0 0 1
move_pages self 0 0 0 0 0x100
migrate_pages
setrlimit 4
prlimit64 0 4 1
prlimit64 child 13 zeros
setpriority 0 child 19
setpriority 2 nobody -20
ioprio_set 1 child 0xffff
ioprio_set 3 0 0xffff
sched_setaffinity child 8 zeros
sched_setscheduler child 99 zeros
sched_setparam child zeros
sched_setattr child zeros 1
ioctl pipe 0x5412 zeros
ioctl pipe 0x541c zeros
ioctl pipe 0x5423 zeros
ioctl pipe 0x541d zeros
ioctl pipe 0x8901 zeros
ioctl pipe 0x8902 zeros
shmget
shmat -1
shmctl -1
shmdt 1
semget 0 -1
semop -1 zeros 1
semtimedop -1 zeros 1
semctl -1
msgget 0x7abc1234
msgsnd -1 zeros
msgrcv -1
msgctl -1
mq_open name
mq_unlink name
mq_timedsend -1
mq_timedreceive -1
mq_notify -1
mq_getsetattr -1
openat2 -100 missing zeros
connect -1 zeros 16
seccomp 1 8
chmod missing
fchmod -1
fchmodat -100 missing
fchmodat2 -100 missing
chmod missing 04755
chmod missing 02755
fchmod -1 04755
fchmod -1 02755
fchmodat -100 missing 04755
fchmodat -100 missing 02755
fchmodat2 -100 missing 04755
fchmodat2 -100 missing 02755
chown missing
lchown missing
fchown -1
fchownat -100 missing
utime missing
utimes missing
futimesat -100 missing
utimensat -100 missing
setxattr missing attribute zeros 1
lsetxattr missing attribute zeros 1
fsetxattr -1 attribute zeros 1
removexattr missing attribute
lremovexattr missing attribute
fremovexattr -1 attribute
open missing 01000
open missing 01003
openat -100 missing 01000
openat -100 missing 01003
truncate missing
fcntl pipe 1036 zeros
fcntl pipe 1038 zeros
fcntl pipe 8
fcntl pipe 15 zeros
kill child
tkill self
tgkill self self
rt_sigqueueinfo child 0 ones
rt_tgsigqueueinfo child child 0 ones
pidfd_send_signal -1
`

// victimAttempts are the calls to choose from.
var victimAttempts = sync.OnceValue(func() []attempt {
	var list []attempt
	for line := range strings.Lines(victimHand) {
		if f := strings.Fields(line); len(f) > 0 {
			list = append(list, attempt{f[0], f[1:]})
		}
	}
	for bit := range 32 { // with a flag that is invalid, or a thread that shares no signal handlers
		list = append(list, attemptOf("unshare", uint64(1)<<bit|1), attemptOf("clone", uint64(1)<<bit|unix.CLONE_THREAD))
	}
	return append(append(list, victimIoctls()...), victimSockets()...)
})

func attemptOf(call string, args ...uint64) attempt {
	a := attempt{Call: call}
	for _, n := range args {
		a.Args = append(a.Args, fmt.Sprintf("%#x", n))
	}
	return a
}

// victimIoctls have a size that no command has.
func victimIoctls() []attempt {
	var list []attempt
	for _, kind := range []uint64{0x94, 'f', 'X', 'v', 'r', 0xbc, 0xf5} {
		for number := range uint64(256) {
			for direction := range uint64(4) {
				a := attemptOf("ioctl", 0, direction<<30|0x3ff<<16|kind<<8|number)
				a.Args[0] = "pipe"
				list = append(list, a)
			}
		}
	}
	return list
}

// victimSockets are sockets that the kernel does not make: 15 is no type.
func victimSockets() []attempt {
	list := []attempt{
		attemptOf("socket", unix.AF_NETLINK, 15, unix.NETLINK_AUDIT),
		attemptOf("socket", unix.AF_UNIX, unix.SOCK_DGRAM, 99), attemptOf("socket", unix.AF_UNIX, unix.SOCK_RAW, 99),
		attemptOf("socketpair", unix.AF_UNIX, unix.SOCK_DGRAM, 99), attemptOf("socketpair", unix.AF_UNIX, unix.SOCK_RAW, 99),
	}
	for n := range uint64(64) {
		list = append(list, attemptOf("socket", n, 15, 0), attemptOf("socketpair", n, 15, 0))
	}
	for _, kind := range []uint64{0, 3, 5, 8} {
		list = append(list, attemptOf("socket", unix.AF_INET, kind, 0))
	}
	for n := range uint64(256) {
		list = append(list, attemptOf("socket", unix.AF_INET, unix.SOCK_STREAM, n), attemptOf("socket", unix.AF_INET, unix.SOCK_DGRAM, n))
	}
	return list
}

// seen are the attempt's arguments as a rule sees them.
func (a attempt) seen() (args [6]uint64) {
	for i, word := range a.Args {
		n, isWord := victimWords[word]
		if !isWord {
			var err error
			if n, err = victimNumber(word); err != nil {
				panic(err)
			}
		}
		args[i] = n
	}
	return args
}

// victimOf finds an attempt that one rule of a filter refuses and no other: what
// refuses it is then that rule.
func victimOf(rule seccomp.Rule, filter []seccomp.Rule) (attempt, bool) {
	for _, a := range victimAttempts() {
		if a.Call == rule.Call && rule.Matches(a.seen()) && victimMatches(filter, a) == 1 {
			return a, true
		}
	}
	return attempt{}, false
}

func victimMatches(filter []seccomp.Rule, a attempt) (n int) {
	for _, r := range filter {
		if r.Call == a.Call && r.Matches(a.seen()) {
			n++
		}
	}
	return n
}

// victimHas reports whether this architecture has the rule's call.
func victimHas(r seccomp.Rule) bool {
	_, has := seccomp.Number(r.Call, seccomp.Arch(runtime.GOARCH))
	return has
}
