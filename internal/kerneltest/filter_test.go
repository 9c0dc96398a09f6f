package kerneltest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The victim calls getpriority(PRIO_PROCESS, 0): harmless, and its raw result
// at nice 0 is 20, which no filter returns.
const (
	worked = "20 0"
	high   = uint64(1) << 32
)

func victimCommand(sysno, arg0, arg1, arg2 uint64) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{victimArg0}
	for _, n := range []uint64{sysno, arg0, arg1, arg2} {
		cmd.Args = append(cmd.Args, fmt.Sprint(n))
	}
	return cmd
}

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// before is what the victim prints without a filter at this process's nice.
func before(t *testing.T) string {
	t.Helper()
	got := output(t, victimCommand(unix.SYS_GETPRIORITY, unix.PRIO_PROCESS, 0, 0))
	if !strings.HasSuffix(got, " 0") || got == "0 0" {
		t.Fatalf("without a filter getpriority gives %q", got)
	}
	return got
}

func TestUnderFilter(t *testing.T) {
	plain := before(t)
	const call = unix.SYS_GETPRIORITY
	refused := fmt.Sprint(-1, " ", int(unix.ENOSYS))
	tests := []struct {
		name    string
		filters []Filter
		arg1    uint64 // getpriority's second, which the kernel reads as int
		want    string
	}{
		{"no filter", nil, 0, plain},
		{"another call", []Filter{{Sysno: unix.SYS_SETPRIORITY, Errno: unix.ENOSYS}}, 0, plain},
		{"refused", []Filter{{Sysno: call, Errno: unix.ENOSYS}}, 0, refused},
		{"succeeds without effect", []Filter{{Sysno: call}}, 0, "0 0"},
		{"argument matches", []Filter{{call, unix.ENOSYS, []Arg{{1, 0}}}}, 0, refused},
		{"argument differs", []Filter{{call, unix.ENOSYS, []Arg{{1, 7}}}}, 0, plain},
		{"high half matches", []Filter{{call, unix.ENOSYS, []Arg{{1, high}}}}, high, refused},
		{"high half differs", []Filter{{call, unix.ENOSYS, []Arg{{1, 0}}}}, high, plain},
		{"one of two differs", []Filter{{call, unix.ENOSYS, []Arg{{1, 0}, {0, 9}}}}, 0, plain},
		{"both match", []Filter{{call, unix.ENOSYS, []Arg{{1, 0}, {0, unix.PRIO_PROCESS}}}}, 0, refused},
		{"second filter", []Filter{{call, unix.EPERM, []Arg{{1, 7}}}, {Sysno: call, Errno: unix.ENOSYS}}, 0, refused},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := UnderFilter(victimCommand(call, unix.PRIO_PROCESS, tt.arg1, 0), tt.filters...)
			if got := output(t, cmd); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A filter that lets the question through and refuses the act is the case that
// a look at the ABI alone does not notice.
func TestVersionThroughCreationRefused(t *testing.T) {
	Require(t, Landlock(1))
	const call = unix.SYS_LANDLOCK_CREATE_RULESET
	refuse := Filter{call, unix.EPERM, []Arg{{Index: 2, Value: 0}}}
	version := victimCommand(call, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if got := output(t, UnderFilter(version, refuse)); !strings.HasSuffix(got, " 0") {
		t.Errorf("the version: got %q, want success", got)
	}
	// A NULL attribute is EFAULT or EINVAL in the kernel, EPERM in the filter.
	if got := output(t, victimCommand(call, 0, 0, 0)); strings.HasSuffix(got, " 1") {
		t.Fatalf("without a filter the creation gives %q", got)
	}
	if got := output(t, UnderFilter(victimCommand(call, 0, 0, 0), refuse)); got != "-1 1" {
		t.Errorf("the creation: got %q, want -1 and EPERM", got)
	}
}

func TestUnderFilterKeepsTheCommand(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `printf '%s|' "$0" "$@" "$X" "$PWD"; umask`, "a b", "", "c")
	cmd.Env = []string{"X=y"}
	cmd.Dir = "/"
	want := output(t, cmd)
	again := exec.Command(cmd.Path, cmd.Args[1:]...)
	again.Env, again.Dir = cmd.Env, cmd.Dir
	if got := output(t, UnderFilter(again, Filter{Sysno: unix.SYS_GETPRIORITY})); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUnderFilterFailures(t *testing.T) {
	if err := RunUnderFilter(exec.Command("/bin/sh", "-c", "exit 3")); err == nil || err.Error() != "exit status 3" {
		t.Errorf("a failing program: got %v", err)
	}
	for name, cmd := range map[string]*exec.Cmd{
		"not executable": exec.Command(os.DevNull),
		"unknown":        exec.Command("no-such-program-here"),
	} {
		if err := RunUnderFilter(cmd); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	bad := Filter{Args: []Arg{{Index: 6}}}
	if err := RunUnderFilter(exec.Command("/bin/true"), bad); err == nil || !strings.Contains(err.Error(), "did not run") {
		t.Errorf("a bad argument index: got %v", err)
	}
}

func TestForgottenHook(t *testing.T) {
	hooked = false
	defer func() { hooked = true }()
	err := RunUnderFilter(exec.Command("/bin/true"))
	if err == nil || !strings.Contains(err.Error(), "RunHook") {
		t.Errorf("got %v, want an error that says what to add", err)
	}
}
