package keeper

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/confine/cgroups"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// idle is a keeper that answers nothing, with a group that was asked of it.
func idle(t *testing.T) *Group {
	t.Helper()
	k := &Keeper{runs: map[uint64]*Process{}}
	ours, theirs, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	k.conn = ours
	t.Cleanup(func() { ours.close(); unix.Close(theirs) })
	g, err := k.Group(policy.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestWaitEnds with its context: a group may take long to be made.
func TestWaitEnds(t *testing.T) {
	g := idle(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	if err := g.Wait(ctx); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	g.Close()
	if k := g.process.keeper; len(k.runs) != 0 {
		t.Errorf("runs that are left: %v", k.runs)
	}
	if _, err := g.Spawn(t.Context(), helper, shell(t, "true", "")); !errors.Is(err, errTaken) {
		t.Errorf("a spawn after Close gave %v", err)
	}
}

// TestCloseLeavesARunAlone: a command whose Group is closed goes on, and its end
// is told.
func TestCloseLeavesARunAlone(t *testing.T) {
	k := start(t)
	g, err := k.Group(policy.Limits{})
	if err == nil {
		err = g.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Spawn(t.Context(), helper, shellIn(t, g, "sleep 0.1; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	<-p.Done()
	if status, err := p.Status(); err != nil || status.ExitStatus() != 3 {
		t.Errorf("status %v, %v", status, err)
	}
	if _, err := g.Spawn(t.Context(), helper, shell(t, "true", "")); !errors.Is(err, errTaken) {
		t.Errorf("a second spawn gave %v", err)
	}
}

// TestLongTexts: what has no room in a message is told in less.
func TestLongTexts(t *testing.T) {
	for _, text := range []string{"short", strings.Repeat("é", 4000), "x" + strings.Repeat("€", 4000) + ": permission denied", "mkdir \xff" + strings.Repeat("a\xff", 4000)} {
		got := cut(text)
		if len(got) > maxText || !utf8.ValidString(got) || len(text) <= maxText && got != text {
			t.Errorf("%.20q: %d bytes, %q", text, len(got), got)
		}
		if got[0] != text[0] || strings.HasSuffix(text, "denied") != strings.HasSuffix(got, ": permission denied") {
			t.Errorf("%.20q: lost its ends: %q", text, got)
		}
	}
	ours, theirs, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.close()
	other, err := newConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	s := &server{conn: ours}
	long := strings.Repeat("x", maxMessage)
	for _, e := range []event{
		{Kind: grouped, Group: &groupState{Why: long}},
		{Kind: failed, Step: stepSpawn, Errno: unix.ENOENT, Group: &groupState{Left: long}},
		{Kind: exited, Status: 256, Leftover: 2, Broker: long, Group: &groupState{Left: long}},
	} {
		e.Run = 7
		s.tell(e)
		var got event
		if _, err := other.receive(&got); err != nil {
			t.Fatal(err)
		}
		if got.Run != e.Run || got.Kind != e.Kind || got.Step != e.Step || got.Errno != e.Errno || got.Status != e.Status || got.Leftover != e.Leftover || (got.Broker == "") != (e.Broker == "") {
			t.Errorf("sent %s, received %+v", e.Kind, got)
		}
		if e.Kind == grouped && (got.Group.Refused != tooLong || got.Group.Errno != syscall.EMSGSIZE) {
			t.Errorf("got %+v", got.Group)
		}
	}
}

// TestOfProgram: a program that cannot be executed is not tried a second time.
func TestOfProgram(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		errno   syscall.Errno
		program string
		want    bool
	}{
		{unix.ENOENT, "/nowhere", true},
		{unix.ENOEXEC, plain, true},
		{unix.EACCES, plain, true},
		{unix.EACCES, "/bin/sh", false},
		{unix.EPERM, "/bin/sh", false},
		{unix.ENOSYS, "/bin/sh", false},
		{unix.EBUSY, "/bin/sh", false},
		{unix.EOPNOTSUPP, "/bin/sh", false},
		{unix.ENODEV, "/bin/sh", false},
	} {
		if got := ofProgram(tt.errno, tt.program); got != tt.want {
			t.Errorf("%v of %s: %v", tt.errno, tt.program, got)
		}
	}
}

// TestPathsOfBytes: a control group's path may hold what is no UTF-8.
func TestPathsOfBytes(t *testing.T) {
	kerneltest.Require(t, kerneltest.Root, kerneltest.Cgroup1)
	own, err := kerneltest.OwnGroup("pids")
	if err != nil {
		t.Fatal(err)
	}
	parent := filepath.Join(own, "test-bytes-\xff\xfe")
	if err := os.Mkdir(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.Remove(parent); err != nil {
			t.Error(err)
		}
	}()
	k, err := Start(Options{CgroupParent: parent})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	g, err := k.Group(policy.Limits{})
	if err == nil {
		err = g.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Spawn(t.Context(), helper, shellIn(t, g, "true"))
	if err != nil || len(g.Entrances()) != 1 || !strings.HasPrefix(g.Entrances()[0], parent+"/") {
		t.Fatalf("%q, %v", g.Entrances(), err)
	}
	end(t, p)
	if left := p.GroupLeft(); left != nil || p.Usage().PeakProcesses == 0 {
		t.Errorf("%v, %+v", left, p.Usage())
	}
}

// TestSlowGroupDelaysNobody: what waits for a group is its own run. Another run's
// requests are answered meanwhile.
func TestSlowGroupDelaysNobody(t *testing.T) {
	ours, theirs, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	other, err := newConn(theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	self, err := NewName()
	if err != nil {
		t.Fatal(err)
	}
	s := &server{conn: ours, groups: groups{cgroups.Nowhere(errors.New("test")), self}, births: make(chan func()), live: map[uint64]*run{}}
	go s.deliver()
	defer close(s.births)
	const slow, spawned, quick = 1, 2, 3
	for _, id := range []uint64{slow, spawned} {
		s.enter(id, func(r *run) { r.made.Add(1) })
	}
	made := []*run{s.live[slow], s.live[spawned]}
	read := make(chan struct{})
	go func() { defer close(read); s.requests() }()
	for _, req := range []request{{Run: slow, Op: opForget}, {Run: spawned, Op: opSpawn, Helper: "/nowhere"}, {Run: quick, Op: opGroup}} {
		if err := other.send(req); err != nil {
			t.Fatal(err)
		}
	}
	got := func() event {
		if err := other.file.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		var e event
		if _, err := other.receive(&e); err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := got(); e.Run != quick || e.Kind != grouped {
		t.Errorf("first came %+v", e)
	}
	for _, r := range made {
		r.made.Done()
	}
	if e := got(); e.Run != spawned || e.Kind != failed || e.Errno != unix.ENOENT {
		t.Errorf("then came %+v", e)
	}
	if err := other.finish(); err != nil {
		t.Fatal(err)
	}
	<-read
	s.runs.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.live) != 1 || s.live[quick] == nil {
		t.Errorf("runs that are left: %v", s.live)
	}
}

// TestGroupThatTakesNobody: a group that a helper can be neither started in nor
// moved into is an error of the limits.
func TestGroupThatTakesNobody(t *testing.T) {
	kerneltest.Require(t, kerneltest.Root, kerneltest.Cgroup1)
	parent, err := os.MkdirTemp("/sys/fs/cgroup/unified", "test-threaded-")
	if err != nil {
		t.Skip("no mount of version 2: ", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(parent); err != nil {
			t.Error(err)
		}
	})
	k, err := Start(Options{CgroupParent: parent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	g, err := k.Group(policy.Limits{})
	if err == nil {
		err = g.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	// Beside a threaded group it becomes "domain invalid" (cgroups(7)).
	beside := filepath.Join(parent, "beside")
	if err := os.Mkdir(beside, 0o755); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(beside)
	if err := os.WriteFile(filepath.Join(beside, "cgroup.type"), []byte("threaded"), 0); err != nil {
		t.Fatal(err)
	}
	_, err = g.Spawn(t.Context(), helper, shell(t, "true", ""))
	var h *HelperError
	if !errors.As(err, &h) || h.Stage != confine.LimitsStep || h.Errno != unix.EOPNOTSUPP {
		t.Errorf("got %v", err)
	}
}
