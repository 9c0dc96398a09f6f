package landlock

import (
	"errors"
	"syscall"
	"testing"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

func TestHandled(t *testing.T) {
	tests := []struct {
		abi             int
		fs, net, scoped uint64
	}{
		{1, 1<<13 - 1, 0, 0},
		{2, 1<<14 - 1, 0, 0},
		{3, 1<<15 - 1, 0, 0},
		{4, 1<<15 - 1, 3, 0},
		{5, 1<<16 - 1, 3, 0},
		{6, 1<<16 - 1, 3, ll.ScopeSignal | ll.ScopeAbstractUnixSocket},
		{7, 1<<16 - 1, 3, ll.ScopeSignal | ll.ScopeAbstractUnixSocket},
	}
	for _, tt := range tests {
		want := ll.RulesetAttr{HandledAccessFS: tt.fs, HandledAccessNet: tt.net, Scoped: tt.scoped}
		if got := attr(tt.abi, policy.NetworkDeny); got != want {
			t.Errorf("attr(%d) is %+v, wanted %+v", tt.abi, got, want)
		}
		want.HandledAccessNet = 0
		if got := attr(tt.abi, policy.NetworkAllow); got != want {
			t.Errorf("attr(%d) with the network allowed is %+v, wanted %+v", tt.abi, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	old, filtered := surroundings{filtered: true}, surroundings{expected: true, filtered: true}
	plain := surroundings{expected: true}
	tests := []struct {
		name  string
		errno syscall.Errno
		in    surroundings
		want  Reason
	}{
		{"an old kernel in a container", syscall.ENOSYS, old, Missing},
		{"a new kernel without it", syscall.ENOSYS, plain, Missing},
		{"a filter that hides it", syscall.ENOSYS, filtered, Blocked},
		{"off at boot", syscall.EOPNOTSUPP, plain, Missing},
		{"a filter that forbids it", syscall.EPERM, filtered, Blocked},
		{"refused by something else", syscall.EACCES, plain, Blocked},
		{"every ruleset refused", syscall.EINVAL, plain, Inert},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := unavailable("create", tt.errno, tt.in)
			var u *UnavailableError
			if !errors.As(err, &u) || u.Reason != tt.want || !errors.Is(err, tt.errno) {
				t.Errorf("got %v, wanted reason %q with the errno kept", err, tt.want)
			}
			if tt.want.Hint() == "" {
				t.Errorf("reason %q has no hint", tt.want)
			}
		})
	}
	if err := unavailable("create", syscall.EMFILE, plain); !errors.Is(err, syscall.EMFILE) || errors.As(err, new(*UnavailableError)) {
		t.Errorf("EMFILE gave %v, wanted an error of its own", err)
	}
}

// TestStepDown: a kernel that announces more than it takes.
func TestStepDown(t *testing.T) {
	tests := []struct {
		name             string
		announced, takes int
		abi              int
		err              error
	}{
		{"honest", 7, 7, 7, nil},
		{"a backport that answers 6 and takes 4", 6, 4, 4, nil},
		{"newer than this project has read", 99, 99, NewestABI, nil},
		{"takes nothing", 6, 0, 0, syscall.EINVAL},
		{"announces nothing", 0, 0, 0, syscall.EINVAL},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fd, abi, err := stepDown(tt.announced, func(abi int) (int, error) {
				if abi > tt.takes {
					return -1, syscall.EINVAL
				}
				return 42, nil
			})
			if abi != tt.abi || !errors.Is(err, tt.err) || (err == nil) != (fd == 42) {
				t.Errorf("got ABI %d, descriptor %d, error %v; wanted ABI %d, error %v", abi, fd, err, tt.abi, tt.err)
			}
		})
	}
	_, _, err := stepDown(7, func(int) (int, error) { return -1, syscall.EPERM })
	if !errors.Is(err, syscall.EPERM) {
		t.Errorf("got %v, wanted the first error that is not EINVAL", err)
	}
}

func TestHasLandlock(t *testing.T) {
	for release, want := range map[string]bool{
		"5.10.0-46": false, "5.13.0": true, "6.18.44-fc": true, "4.19": false, "10.0": true, "": false, "x": false,
	} {
		if got := hasLandlock(release); got != want {
			t.Errorf("hasLandlock(%q) = %v, wanted %v", release, got, want)
		}
	}
}
