package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// Cases E04 and E05: a command that will not end does, within timeout, grace
// and a second; what it had written is there; the JSON tells it from a command
// of its own exit status 124.
func TestTimeout(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	timeout, grace, late := kerneltest.Slow(time.Second), kerneltest.Slow(500*time.Millisecond), kerneltest.Slow(time.Second)
	dir := t.TempDir()
	report := filepath.Join(realTempDir(t), "doc.json")
	tests := []struct {
		name, command string
		atMost        time.Duration
	}{
		{"ends when asked", "echo early; echo $$; sleep 60", timeout + late},
		{"ignores", `echo early; echo $$; trap "" TERM; sleep 60`, timeout + grace + late},
		{"children ignore", `trap "" TERM; sleep 60 & sleep 61 & echo early; echo $$; wait`, timeout + grace + late},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			begin := time.Now()
			o := sandboxed(t, dir, "--timeout", fmt.Sprint(timeout), "--grace", fmt.Sprint(grace), "--json", report, "-c", tt.command)
			if took := time.Since(begin); took < timeout || took > tt.atMost {
				t.Errorf("it took %s, want %s to %s", took, timeout, tt.atMost)
			}
			if o.status != statusTimeout || !strings.Contains(o.stderr, fmt.Sprintf("[timed out after %dms]\n", timeout.Milliseconds())) {
				t.Errorf("got %+v, want 124 and the marker", o)
			}
			var group int
			if _, err := fmt.Sscanf(o.stdout, "early\n%d\n", &group); err != nil {
				t.Fatalf("stdout %q: %v", o.stdout, err)
			}
			if !gone(t, -group) {
				t.Error("processes of its group are left")
			}
			checkTimeoutDocument(t, report, timeout)
		})
	}
}

func checkTimeoutDocument(t *testing.T, path string, timeout time.Duration) {
	t.Helper()
	document, err := validDocument(read(t, path))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"exitStatus": "124", "exit.timedOut": "true", "exit.aborted": "false", "timeoutMs": fmt.Sprint(timeout.Milliseconds()), "denied": "false",
	} {
		if got, err := lookUp(document, path); err != nil || got != want {
			t.Errorf("%s is %s (%v), want %s", path, got, err, want)
		}
	}
}
