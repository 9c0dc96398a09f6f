package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// both changes the mode of a file inside and of one outside, and prints how.
func both(t *testing.T, p policy.Policy) (r executor.Result, inside, outside string) {
	t.Helper()
	p.Workspace = realTempDir(t)
	inside, outside = filepath.Join(p.Workspace, "file"), filepath.Join(realTempDir(t), "file")
	write(t, inside, "")
	write(t, outside, "")
	self := selfPath(t)
	r = shell(t, &p, self+" as-victim do chmod "+inside+"; "+self+" as-victim do chmod "+outside)
	return r, inside, outside
}

func statusOf(r fact.Report, p policy.Promise) fact.Status {
	for _, row := range r.Rows {
		if row.Promise == p {
			return row.Status
		}
	}
	return ""
}

// The two choices, beside what holds without them.
func TestMetadataChoices(t *testing.T) {
	needs(t)
	for _, tt := range []struct {
		name   string
		policy policy.Policy
		want   string
		status fact.Status
	}{
		{"workspace-write", policy.Policy{Mode: policy.WorkspaceWrite}, "ok\nEACCES\n", fact.Enforced},
		{"workspace-write, closed", policy.Policy{Mode: policy.WorkspaceWrite, Closed: metadataAlone}, "EACCES\nEACCES\n", fact.Closed},
		{"workspace-write, unenforced", policy.Policy{Mode: policy.WorkspaceWrite, AllowUnenforced: metadataAlone}, "ok\nok\n", fact.NotEnforced},
		{"read-only", policy.Policy{Mode: policy.ReadOnly}, "EACCES\nEACCES\n", fact.Enforced},
		{"read-only, closed", policy.Policy{Mode: policy.ReadOnly, Closed: metadataAlone}, "EACCES\nEACCES\n", fact.Closed},
		{"read-only, unenforced", policy.Policy{Mode: policy.ReadOnly, AllowUnenforced: metadataAlone}, "ok\nok\n", fact.NotEnforced},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, inside, outside := both(t, tt.policy)
			if stdout(r) != tt.want {
				t.Errorf("got %q %q, want %q", stdout(r), stderr(r), tt.want)
			}
			answers := strings.Fields(stdout(r))
			for i, path := range []string{inside, outside} {
				if changed := strings.HasPrefix(metadataLookAt(path).Text, "100600"); changed != (answers[i] == "ok") {
					t.Errorf("%s: %s, and it says %s", path, metadataLookAt(path).Text, answers[i])
				}
			}
			if got := statusOf(r.Report, policy.PromiseMetadata); got != tt.status {
				t.Errorf("metadata is %q, want %q", got, tt.status)
			}
		})
	}
}

// In read-only the scratch directory is the place for it.
func TestMetadataScratch(t *testing.T) {
	needs(t)
	self := selfPath(t)
	command := `cd "$TMPDIR" && echo >file && ` + self + ` as-victim do chmod file && ` + self + ` as-victim do utimensat file && ls -l file`
	for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
		r := shell(t, in(mode, realTempDir(t)), command)
		succeeded(t, r)
		if !strings.HasPrefix(stdout(r), "ok\nok\n-rw-------") || !strings.Contains(stdout(r), "1970") {
			t.Errorf("%s: got %q", mode, stdout(r))
		}
	}
}

// A sandbox in a sandbox has no broker of its own: the outer one judges, by its
// own roots.
func TestMetadataNested(t *testing.T) {
	needs(t)
	outerWork, outside := realTempDir(t), filepath.Join(realTempDir(t), "file")
	inside := filepath.Join(outerWork, "work", "file")
	mustBash(t, outerWork, "mkdir -m 755 work && mkdir -m 700 state && touch work/file "+outside+" && chmod 644 "+outside)
	self := selfPath(t)
	nested := func(path string) string {
		return self + " as-runner " + outerWork + "/work " + outerWork + "/state '" + self + " as-victim do chmod " + path + " >>" + outerWork + "/work/answers'"
	}
	e := newExecutor(t, executor.Config{})
	r := run(t, e, executor.Request{Policy: in(policy.WorkspaceWrite, outerWork), Command: nested(inside) + "; " + nested(outside)})
	if got := read(t, filepath.Join(outerWork, "work", "answers")); got != "ok\nEACCES\n" {
		t.Fatalf("got %q: %s%s", got, stdout(r), stderr(r))
	}
	if !slices.Equal(exactOf(r), []fact.Denial{refusedAt(fact.OpChmod, outside)}) {
		t.Errorf("denials %+v", r.Denials)
	}
	if !strings.HasPrefix(metadataLookAt(inside).Text, "100600") || !strings.HasPrefix(metadataLookAt(outside).Text, "100644") {
		t.Errorf("inside %s, outside %s", metadataLookAt(inside).Text, metadataLookAt(outside).Text)
	}
}

// foreign is a program with a listener of its own, which becomes the runner. The
// filter asks about a call that nobody makes.
//
//	as-foreign ARGUMENT...
func foreign(args []string) int {
	runtime.LockOSThread() // a filter is its thread's
	if err := victimListen(); err != nil {
		return 2
	}
	_ = unix.Exec("/proc/self/exe", append([]string{os.Args[0]}, args...), os.Environ())
	return 3
}

// victimListen leaves the listener open for the programs that come after it:
// without a reader all of its calls would fail, but not its filter.
func victimListen() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.SYS_ACCT},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return errno
	}
	_, err := unix.FcntlInt(fd, unix.F_SETFD, 0)
	return err
}

// noListener is a kernel without listeners that signals leave alone.
func noListener() kerneltest.Filter {
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	return on(unix.SYS_SECCOMP, unix.EINVAL, kerneltest.Arg{Index: 0, Value: unix.SECCOMP_SET_MODE_FILTER}, kerneltest.Arg{Index: 1, Value: flags})
}

// Where there can be no broker, workspace-write does not run and says what to
// do, and read-only closes.
func TestMetadataWithoutBroker(t *testing.T) {
	needs(t)
	for name, under := range map[string]func(program string, args ...string) ([]byte, error){
		"a foreign listener": func(program string, args ...string) ([]byte, error) {
			return self(t, "as-foreign", append([]string{program}, args...)...).Output()
		},
		"no listeners": func(program string, args ...string) ([]byte, error) {
			return kerneltest.UnderFilter(self(t, program, args...), noListener()).Output()
		},
	} {
		t.Run(name, func(t *testing.T) {
			work, state := realTempDir(t), stateDir(t)
			out, err := under("as-runner", work, state, "touch marker")
			if err != nil {
				t.Fatalf("the runner: %v", err)
			}
			r := parseRan(t, out)
			if r.Started || !r.Unavailable || r.Stage != "metadata" || exists(t, filepath.Join(work, "marker")) {
				t.Errorf("it ran: %+v", r)
			}
			if !strings.Contains(r.Hint, "--closed metadata") || !strings.Contains(r.Hint, "--allow-unenforced metadata") {
				t.Errorf("the hint %q lacks a way out", r.Hint)
			}
			for _, tt := range []struct {
				policy policy.Policy
				status fact.Status
			}{
				{policy.Policy{Mode: policy.ReadOnly}, fact.Closed},
				{policy.Policy{Mode: policy.WorkspaceWrite, Closed: metadataAlone}, fact.Closed},
				{policy.Policy{Mode: policy.WorkspaceWrite, AllowUnenforced: metadataAlone}, fact.NotEnforced},
			} {
				tt.policy.Workspace = work
				text, err := json.Marshal(tt.policy)
				if err != nil {
					t.Fatal(err)
				}
				out, err := under("as-reporter", state, string(text), "echo ran")
				if want := "ran\n" + string(tt.status) + "\n"; err != nil || !bytes.Equal(out, []byte(want)) {
					t.Errorf("%s: %v: got %q, want %q", tt.policy.Mode, err, out, want)
				}
			}
		})
	}
}

// reporter runs a command under a policy, and prints what the command prints and
// what became of the promise.
//
//	as-reporter STATE-DIRECTORY POLICY COMMAND
func reporter(args []string) int {
	var p policy.Policy
	if err := json.Unmarshal([]byte(args[1]), &p); err != nil {
		return 2
	}
	e, err := executor.New(executor.Config{StateDir: args[0]})
	if err != nil {
		return 3
	}
	defer e.Close()
	r, err := tryRun(e, executor.Request{Policy: &p, Command: args[2]})
	if err != nil {
		fmt.Println(err)
		return 4
	}
	fmt.Printf("%s%s\n", stdout(r), statusOf(r.Report, policy.PromiseMetadata))
	return 0
}
