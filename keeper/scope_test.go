package keeper

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/confine/cgroups"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// withoutGroups is a keeper on a machine without any control group.
func withoutGroups(t *testing.T, environ ...string) *Keeper {
	t.Helper()
	self, err := NewName()
	if err != nil {
		t.Fatal(err)
	}
	k, err := startWith(Options{Environ: environ}, groups{cgroups.Nowhere(errors.New("none here")), self})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

// silent is a runtime directory whose bus answers nothing.
func silent(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "XDG_RUNTIME_DIR=" + dir
}

// children are the children that this process has and does not know as others'.
func children(t *testing.T) []int {
	t.Helper()
	list, err := childrenOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestNoScope: what cannot be held is refused with both reasons, and no process
// is left. What nobody asked for is not sought there.
func TestNoScope(t *testing.T) {
	for name, tt := range map[string]struct {
		environ, want string
		within        time.Duration
	}{
		"no bus": {"HOME=/", "limits: memory 64MiB: no control group: none here; and no systemd user scope: no user's bus: XDG_RUNTIME_DIR is not set", 5 * time.Second},
		"gone":   {"XDG_RUNTIME_DIR=/nowhere", "no systemd user scope: connect to the user's bus: unix:path=/nowhere/bus: ", 5 * time.Second},
		"silent": {silent(t), "no answer in time", scopePatience + 3*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			k := withoutGroups(t, tt.environ)
			begin := time.Now()
			g, err := k.Group(policy.Limits{Memory: 64 << 20})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			other, err := k.Group(policy.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			if err := other.Wait(t.Context()); err != nil || other.Limits() != "" || time.Since(begin) > 2*time.Second {
				t.Errorf("without limits: %v, %q, after %s", err, other.Limits(), time.Since(begin))
			}
			err = g.Wait(t.Context())
			var h *HelperError
			if !errors.As(err, &h) || h.Stage != confine.LimitsStep || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, wanted %s", err, tt.want)
			}
			if took := time.Since(begin); took > tt.within {
				t.Errorf("it took %s", took)
			}
			if _, err := g.Spawn(t.Context(), helper, shell(t, "true", "")); err == nil {
				t.Error("it ran")
			}
			if left := children(t); len(left) > 0 {
				t.Errorf("children are left: %d", left)
			}
		})
	}
}

// TestCloseBesideScope: a keeper is closed while systemd does not answer.
func TestCloseBesideScope(t *testing.T) {
	k := withoutGroups(t, silent(t))
	g, err := k.Group(policy.Limits{Memory: 64 << 20})
	if err != nil {
		t.Fatal(err)
	}
	g.Close()
	begin := time.Now()
	if err := k.Close(); err != nil || time.Since(begin) > scopePatience/2 {
		t.Errorf("%v, after %s", err, time.Since(begin))
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("children are left: %d", left)
	}
}

// TestPlaceholder: at the end of its input it kills what it was told to, on a
// machine where that is a plain file.
func TestPlaceholder(t *testing.T) {
	for name, end := range map[string]func(p *placeholder){
		"end of file": func(p *placeholder) { p.tell.Close() },
		"SIGTERM":     func(p *placeholder) { _ = unix.Kill(p.pid, unix.SIGTERM) },
	} {
		p, err := startPlaceholder()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := p.guard(dir); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // it reads, and sets its trap
		if p.gone() || exists(filepath.Join(dir, "cgroup.kill")) {
			t.Errorf("%s: it did not wait", name)
		}
		end(p)
		for deadline := time.Now().Add(5 * time.Second); !p.gone(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: it lives on", name)
			}
		}
		if text, _ := os.ReadFile(filepath.Join(dir, "cgroup.kill")); string(text) != "1\n" {
			t.Errorf("%s: it wrote %q", name, text)
		}
		p.tell.Close()
	}
}

// TestPlaceholderToldNothing writes nowhere, and is gone at once.
func TestPlaceholderToldNothing(t *testing.T) {
	p, err := startPlaceholder()
	if err != nil {
		t.Fatal(err)
	}
	p.end()
	if !p.gone() || exists("/cgroup.kill") {
		t.Error("it is there, or wrote where it was not told to")
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
