package systemd

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served is the environment that leads to a bus that does what serve does with
// its first connection.
func served(t *testing.T, serve func(net.Conn)) []string {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "bus"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		serve(conn)
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return []string{"XDG_RUNTIME_DIR=" + dir}
}

// hang reads to the end and answers nothing.
func hang(conn net.Conn) {
	for b := make([]byte, 100); ; {
		if _, err := conn.Read(b); err != nil {
			return
		}
	}
}

// TestSilence: whatever it is that gets no answer, the context ends it.
func TestSilence(t *testing.T) {
	for name, serve := range map[string]func(net.Conn){
		"at once": hang,
		"after the authentication": func(conn net.Conn) {
			lines := bufio.NewReader(conn)
			for _, answer := range []string{"REJECTED EXTERNAL", "OK 0123456789abcdef0123456789abcdef", "AGREE_UNIX_FD"} {
				if _, err := lines.ReadString('\n'); err != nil {
					return
				}
				if _, err := conn.Write([]byte(answer + "\r\n")); err != nil {
					return
				}
			}
			hang(conn)
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		begin := time.Now()
		b, err := Connect(ctx, served(t, serve))
		if b != nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer in time") {
			t.Errorf("%s: got %v", name, err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
		cancel()
	}
}

func TestNoBus(t *testing.T) {
	if _, err := Connect(t.Context(), nil); !errors.Is(err, errNoBus) {
		t.Errorf("without any: got %v", err)
	}
	if _, err := Connect(t.Context(), []string{"XDG_RUNTIME_DIR=/nowhere"}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/nowhere/bus") {
		t.Errorf("got %v", err)
	}
	_, err := Connect(t.Context(), served(t, func(conn net.Conn) {}))
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a bus that hangs up: got %v", err)
	}
}

// TestResult reads only the signal of its own job.
func TestResult(t *testing.T) {
	signal := func(name string, body ...any) *dbus.Signal {
		return &dbus.Signal{Name: manager + "." + name, Body: body}
	}
	removed := func(job int, verdict string) *dbus.Signal {
		return signal("JobRemoved", uint32(job), dbus.ObjectPath("/job/"+string(rune('0'+job))), "x.scope", verdict)
	}
	for name, tt := range map[string]struct {
		signals []*dbus.Signal
		want    string
	}{
		"done":                {[]*dbus.Signal{removed(1, "done")}, ""},
		"failed":              {[]*dbus.Signal{removed(1, "failed")}, `the job ended as "failed"`},
		"another's first":     {[]*dbus.Signal{removed(2, "failed"), signal("JobNew", uint32(1)), signal("JobRemoved", "odd"), removed(1, "done")}, ""},
		"the connection ends": {[]*dbus.Signal{removed(2, "done")}, "the connection ended before the job did"},
	} {
		signals := make(chan *dbus.Signal, 8)
		for _, s := range tt.signals {
			signals <- s
		}
		close(signals)
		got := ""
		if err := result(t.Context(), signals, "/job/1"); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: got %q, wanted %q", name, got, tt.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := result(ended, make(chan *dbus.Signal), "/job/1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
