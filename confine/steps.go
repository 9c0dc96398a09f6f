package confine

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// setup is what the steps of a job depend on besides the job.
type setup struct {
	slots slots
	caps  capabilities
	core  unix.Rlimit // the limits on core files, bytes
	// processes are the limits on the user's processes and threads.
	processes unix.Rlimit
	oomScore  int // the caller's oom_score_adj
	// coreSocket says that the kernel sends core dumps to a server.
	coreSocket bool
	umask      int    // the caller's
	filter     []byte // the system call filter's program
	asks       bool   // it asks a broker about some calls
	groups     []Slot // the control groups' entrances
}

// slots says where Prepare put the descriptors.
type slots struct {
	stdin, stdout, stderr, dir, ruleset, scratchpad Slot
}

// steps is the whole plan of a job, in order. The order matters: what needs a
// right comes before the step that takes it away.
func steps(job Job, s setup) []Step {
	list := append(enter(s.groups), []Step{
		closeOnExec("nothing of ours or of the caller's outlives exec; the flag acts there, so the socket stays until then"),
		stdio(s.slots),
		session(),
		{"parent death", "the command dies with the thread that started it; this is per thread, and exec may happen on another than the first", []Call{call(unix.SYS_PRCTL, Int(unix.PR_SET_PDEATHSIG), Int(int(unix.SIGKILL)))}},
		signals(),
		{"umask", "the caller's", []Call{call(unix.SYS_UMASK, Int(s.umask))}},
		oomScore(s),
		reserve(s),
		{"directory", "opened before, so no path is walked again", []Call{call(unix.SYS_FCHDIR, FD(s.slots.dir))}},
	}...)
	if job.Policy.Mode.Confines() {
		list = append(list, confinement(job, s)...)
	}
	list = append(list, limits(job.Policy.Limits)...)
	return append(list,
		closeOnExec("descriptors that came since"),
		Step{"ready", "all that was planned holds now", []Call{call(unix.SYS_SENDTO, FD(ControlSlot), Bytes(readyMessage()), Int(messageSize), Int(unix.MSG_NOSIGNAL), Int(0), Int(0))}},
		Step{ExecStep, "end of file on the socket tells that it succeeded", []Call{call(unix.SYS_EXECVE, Str(job.Program), List(job.Argv), List(job.Env))}},
	)
}

// confinement is what a confining mode adds.
func confinement(job Job, s setup) []Step {
	list := []Step{
		coreLimit(s),
		{"capabilities", "root keeps what ordinary work with files and users needs", s.caps.drop()},
		isolationProof(s.slots.scratchpad),
		{"no_new_privs", "no program gains privileges by exec; Landlock asks for it", []Call{call(unix.SYS_PRCTL, Int(unix.PR_SET_NO_NEW_PRIVS), Int(1), Int(0), Int(0), Int(0))}},
		{landlockStep, "files, other processes, signals and abstract sockets", []Call{call(unix.SYS_LANDLOCK_RESTRICT_SELF, FD(s.slots.ruleset), Int(0))}},
		proof(job.Proof),
	}
	if s.asks {
		list = append(list, askingFilter(s), filterProof())
	} else {
		list = append(list, filter(s.filter, 0), filterProof())
	}
	return list
}

// filterProof tries a call that the filter refuses with EPERM. Unfiltered an
// empty path is ENOENT to every user, before any privilege is looked at.
func filterProof() Step {
	try := call(unix.SYS_CHROOT, Str(""))
	try.Expect = unix.EPERM
	return Step{filterProofStep, "a call that answers otherwise without the filter must be refused now", []Call{try}}
}

// filter comes last of what confines: it may refuse what the other steps do.
func filter(program []byte, flags int) Step {
	const instruction = 8                                          // bytes, struct sock_filter
	head := le.AppendUint64(nil, uint64(len(program)/instruction)) // struct sock_fprog: the length, padded
	return Step{FilterStep, "system calls that no rule on paths can hold", []Call{
		call(unix.SYS_SECCOMP, Int(unix.SECCOMP_SET_MODE_FILTER), Int(flags), Pointing(head, program)),
	}}
}

// askingFilter also hands the filter's listener to the keeper, and waits until a
// broker has it: what cannot be judged must not run. Signals do not
// interrupt a call that the broker has taken: it would be restarted and its
// effect come twice.
func askingFilter(s setup) Step {
	step := filter(s.filter, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	message, descriptor := rightsMessage(listenerMessage())
	listener := s.slots.scratchpad
	step.Calls[0].Out, step.Calls[0].Store = listener, descriptor
	step.Calls = append(step.Calls,
		call(unix.SYS_SENDMSG, FD(ControlSlot), message, Int(unix.MSG_NOSIGNAL)),
		call(unix.SYS_CLOSE, FD(listener)),
		call(unix.SYS_RECVFROM, FD(ControlSlot), Bytes(make([]byte, 8)), Int(1), Int(0), Int(0), Int(0)),
	)
	return step
}

// rightsMessage is a struct msghdr that carries text and one descriptor, and the
// place of the descriptor's number (sendmsg(2), cmsg(3)).
func rightsMessage(text []byte) (message Arg, descriptor *Cell) {
	rights := le.AppendUint64(nil, uint64(unix.CmsgLen(4)))
	rights = le.AppendUint32(rights, unix.SOL_SOCKET)
	rights = le.AppendUint32(rights, unix.SCM_RIGHTS)
	ancillary := bytesBlock(append(rights, make([]byte, 8)...))
	vector := &block{data: le.AppendUint64(make([]byte, 8), uint64(len(text))), pointers: []pointer{{0, bytesBlock(text)}}}
	header := make([]byte, 56)
	le.PutUint64(header[24:], 1)
	le.PutUint64(header[40:], uint64(len(ancillary.data)))
	return Arg{kind: argData, block: &block{
		data: header, pointers: []pointer{{16, vector}, {32, ancillary}}, label: "a descriptor",
	}}, &Cell{block: ancillary, at: 16}
}

// session asks twice: who leads a session cannot start another, so the second
// call fails if the first had an effect.
func session() Step {
	again := call(unix.SYS_SETSID)
	again.Expect = unix.EPERM
	return Step{"session", "a session of its own: no controlling terminal, and a process group to kill", []Call{call(unix.SYS_SETSID), again}}
}

// isolationProof tries what a filter in front of the kernel could have answered
// without doing it: a descriptor that close_range closes is gone, and chroot
// needs a capability that nobody has any more.
func isolationProof(free Slot) Step {
	open := call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), Str("/"), Int(unix.O_PATH|unix.O_CLOEXEC), Int(0))
	open.Out = free
	use := call(unix.SYS_FCNTL, FD(free), Int(unix.F_GETFD), Int(0))
	use.Expect = unix.EBADF
	enter := call(unix.SYS_CHROOT, Str("/"))
	enter.Expect = unix.EPERM
	return Step{"isolation proof", "descriptors and capabilities that were closed and dropped must be gone", []Call{
		open, call(unix.SYS_CLOSE_RANGE, FD(free), FD(free), Int(0)), use, enter,
	}}
}

func closeOnExec(why string) Step {
	return Step{"descriptors", why, []Call{call(unix.SYS_CLOSE_RANGE, Int(3), Int(0xffffffff), Int(unix.CLOSE_RANGE_CLOEXEC))}}
}

func stdio(s slots) Step {
	return Step{"stdio", "pipes or /dev/null of ours, never the caller's descriptors", []Call{
		call(unix.SYS_DUP3, FD(s.stdin), Int(0), Int(0)),
		call(unix.SYS_DUP3, FD(s.stdout), Int(1), Int(0)),
		call(unix.SYS_DUP3, FD(s.stderr), Int(2), Int(0)),
	}}
}

// signals gives every signal its default action and unblocks all. An ignored
// signal survives exec: under nohup or a careless parent a command would
// otherwise never see its SIGHUP, SIGINT or SIGPIPE.
func signals() Step {
	step := Step{Name: "signals", Why: "ignored and blocked signals survive exec"}
	action := Bytes(make([]byte, 32)) // struct sigaction of the kernel, all zero: SIG_DFL
	for sig := 1; sig <= 64; sig++ {
		if sig != int(unix.SIGKILL) && sig != int(unix.SIGSTOP) {
			step.Calls = append(step.Calls, call(unix.SYS_RT_SIGACTION, Int(sig), action, Int(0), Int(8)))
		}
	}
	step.Calls = append(step.Calls, call(unix.SYS_RT_SIGPROCMASK, Int(unix.SIG_SETMASK), Bytes(make([]byte, 8)), Int(0), Int(8)))
	return step
}

// coreLimit is 1 and not 0: with 0 the kernel still pipes a core to a handler
// that runs outside (core(5)). Without CAP_SYS_RESOURCE a hard limit of 0
// cannot be raised.
func coreLimit(s setup) Step {
	limit := min(1, s.core.Max)
	if has(s.caps.effective, unix.CAP_SYS_RESOURCE) {
		limit = 1
	}
	step := Step{Name: "core limit", Why: "no core file, and 1 keeps a core handler outside from being started where 0 would not"}
	if s.core.Cur == limit && s.core.Max == limit {
		return step // an outer filter, ours among them, may refuse to set it again
	}
	rlimit := le.AppendUint64(le.AppendUint64(nil, limit), limit)
	step.Calls = []Call{call(unix.SYS_PRLIMIT64, Int(0), Int(unix.RLIMIT_CORE), Bytes(rlimit), Int(0))}
	return step
}

// oomVictim is the oom_score_adj of commands: when the machine runs out of
// memory the kernel should take the command and not what started it.
const oomVictim = 500

func oomScore(s setup) Step {
	score := strconv.Itoa(max(oomVictim, s.oomScore))
	free := s.slots.scratchpad
	open := call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), Str("/proc/self/oom_score_adj"), Int(unix.O_WRONLY|unix.O_CLOEXEC), Int(0))
	open.Out, open.Optional = free, true
	write := call(unix.SYS_WRITE, FD(free), Bytes([]byte(score)), Int(len(score)))
	write.Optional = true
	return Step{"oom score", "out of memory, the command goes before its caller", []Call{open, write}}
}

// maxReserve is how many processes and threads of its user a command leaves.
const maxReserve = 64

// reserve keeps a command from using up the processes and threads of its user:
// this process, which has to end it, may need another thread, and Go ends a program
// that cannot have one. The kernel does not hold root to the limit.
func reserve(s setup) Step {
	step := Step{Name: "reserve", Why: "some of the user's processes and threads stay for who ends the command"}
	limit := s.processes.Cur
	if limit == unix.RLIM_INFINITY || limit > 1<<32 {
		return step
	}
	step.Calls = []Call{setLimit(unix.RLIMIT_NPROC, limit-min(maxReserve, limit/4))}
	return step
}

// proof tries a forbidden write in every run, because a kernel or a filter in
// front of it can accept a ruleset and hold nothing.
func proof(path string) Step {
	try := call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), Str(path), Int(unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW), Int(0))
	try.Expect = unix.EACCES
	return Step{ProofStep, "a write that ordinary permissions allow must be refused now", []Call{try}}
}

// Names of steps whose failure has a meaning of its own: ProofStep fails where
// Landlock is inert, FilterStep with EBUSY where something around this process
// has the one listener there can be, ExecStep where the program cannot be executed.
const (
	ProofStep  = "proof"
	FilterStep = "filter"
	ExecStep   = "exec"

	landlockStep = "landlock"

	filterProofStep = "filter proof"
)
