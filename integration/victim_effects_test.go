package integration

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// victimEffect is something a command does that others can see.
type victimEffect struct {
	name  string
	needs []kerneltest.Feature
	in    []policy.Policy
	want  string // what the victim is told inside
	// set prepares the workspace or what the test watches, and returns the
	// victim's arguments and whether the effect is there; nil where there is
	// nothing to see but the answer.
	set func(t *testing.T, work string) (args []string, seen func() bool)
}

var (
	inReadOnly   = []policy.Policy{{Mode: policy.ReadOnly}}
	inWorkspace  = []policy.Policy{{Mode: policy.WorkspaceWrite}}
	inClosed     = []policy.Policy{{Mode: policy.WorkspaceWrite, Closed: metadataAlone}}
	inUnenforced = []policy.Policy{{Mode: policy.WorkspaceWrite, AllowUnenforced: metadataAlone}}
	inBoth       = append(inReadOnly[:1:1], inWorkspace...)
	inAllowed    = []policy.Policy{{Mode: policy.ReadOnly, Network: policy.NetworkAllow}, {Mode: policy.WorkspaceWrite, Network: policy.NetworkAllow}}
	inAll        = append(inBoth[:2:2], inAllowed...)
	inTerminal   = []policy.Policy{{Mode: policy.ReadOnly, Terminals: policy.TerminalsHost}, {Mode: policy.WorkspaceWrite, Terminals: policy.TerminalsHost}}
)

func effects() []victimEffect {
	root := []kerneltest.Feature{kerneltest.Root}
	return []victimEffect{
		{"TCP connect", nil, inBoth, "EPERM", listens("tcp")},
		{"UDP datagram", nil, inBoth, "EPERM", receives("udp")},
		{"unix datagram", nil, inAll, "EPERM", receives("unixgram")},
		{"unix connect", nil, inBoth, "EACCES", listens("unix")},
		{"unix connect to an own server", nil, inBoth, "EACCES", answers("own")},
		{"TCP socket, high bits", nil, inBoth, "EPERM", answers("socket", "0x100000002", "1", "0")},
		{"raw socket", root, inAll, "EPERM", answers("socket", "2", "3", "1")},
		{"packet socket", root, inAll, "EPERM", answers("socket", "17", "3", "0")},
		{"kobject netlink", nil, inAll, "EPROTONOSUPPORT", answers("socket", "16", "3", "15")},
		{"netlink of another protocol, high bits", nil, inAll, "EPROTONOSUPPORT", answers("socket", "0x100000010", "3", "0x10000000f")},
		{"chmod", nil, inReadOnly, "EACCES", changes("chmod")},
		{"chown", root, inReadOnly, "EACCES", changes("chown")},
		{"utimensat", nil, inReadOnly, "EACCES", changes("utimensat")},
		{"setxattr", []kerneltest.Feature{kerneltest.UserXattr}, inReadOnly, "EACCES", changes("setxattr")},
		{"mknod", root, inWorkspace, "EPERM", makes("mknod")},
		{"open with a set-id bit", nil, inWorkspace, "EPERM", makes("setid")},
		{"chmod to a set-user-id bit", nil, inWorkspace, "EPERM", changes("chmod-setuid")},
		{"chmod to a set-group-id bit", nil, inWorkspace, "EPERM", changes("chmod-setgid")},
		{"fchmod to a set-id bit, high bits", nil, inWorkspace, "EPERM", changes("fchmod-setid")},
		{"chmod to a set-id bit in read-only", nil, inReadOnly, "EPERM", changes("chmod-setuid")},
		{"chmod to a set-id bit, closed", nil, inClosed, "EACCES", changes("chmod-setuid")},
		{"chmod to a set-id bit, unenforced", nil, inUnenforced, "EPERM", changes("chmod-setuid")},
		{"user name space", []kerneltest.Feature{kerneltest.Program("true")}, inBoth, "EPERM", answers("userns")},
		{"io_uring", nil, inBoth, "ENOSYS", answers("io_uring")},
		{"TIOCSTI", []kerneltest.Feature{kerneltest.Terminal}, inTerminal, "EPERM", types("0x5412")},
		{"TIOCSTI, high bits", []kerneltest.Feature{kerneltest.Terminal}, inTerminal, "EPERM", types("0x100005412")},
		{"core limit of another process", nil, inBoth, "EPERM", limits(unix.RLIMIT_CORE)},
		{"priority of another process", nil, inBoth, "EPERM", slows},
		{"System V memory", nil, inBoth, "EPERM", shares},
		{"POSIX message queue", nil, inBoth, "EPERM", queues},
		{"FS_IOC_SETFLAGS", nil, inWorkspace, "ENOTSUP", marks},
	}
}

// TestVictimEffects looks from outside at what a victim does, first without the
// sandbox.
func TestVictimEffects(t *testing.T) {
	needs(t)
	list := effects()
	if hasInt80 {
		list = append(list, victimEffect{"chmod by int 0x80", nil, inBoth, "ENOSYS", changes("int80")})
	}
	for _, e := range list {
		t.Run(e.name, func(t *testing.T) {
			kerneltest.Require(t, e.needs...)
			e.try(t, realTempDir)
		})
	}
}

func (e victimEffect) try(t *testing.T, workspace func(testing.TB) string) {
	t.Helper()
	args, seen := e.set(t, workspace(t))
	out, err := self(t, "as-victim", append([]string{"do"}, args...)...).CombinedOutput()
	if err != nil || string(out) != "ok\n" {
		t.Fatalf("without the sandbox: %v: %s", err, out)
	}
	if seen != nil && !seen() {
		t.Fatal("without the sandbox nothing happens")
	}
	for _, p := range e.in {
		p.Workspace = workspace(t)
		args, seen := e.set(t, p.Workspace)
		r := run(t, newExecutor(t, executor.Config{}), executor.Request{
			Policy: &p, Argv: append([]string{selfPath(t), "as-victim", "do"}, args...),
		})
		if stdout(r) != e.want+"\n" || r.Exit.Failed() {
			t.Errorf("%s, network %s: got %+v %q %q, want %s", p.Mode, p.Network, r.Exit, stdout(r), stderr(r), e.want)
		}
		if seen != nil && seen() {
			t.Errorf("%s, network %s: it happened", p.Mode, p.Network)
		}
	}
}
