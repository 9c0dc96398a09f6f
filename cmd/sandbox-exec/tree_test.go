package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// storm is a script that starts itself again in a session of its own and ends:
// one process at a time, never the same. It stops where the file "stop" is.
const storm = `#!/bin/bash
[ -e "$1/stop" ] && exit
echo $$ >"$1/alive"
setsid "$0" "$1" </dev/null >/dev/null 2>&1 &
`

// Cases E01 and E03: nothing of a command is alive after its end, whatever it
// did to get out of its group. Without the sandbox each of them lives on.
func TestNothingIsLeftBehind(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("setsid"))
	const beat = ` sh -c 'while [ ! -e stop ]; do echo >alive; sleep 0.02; done' </dev/null >/dev/null 2>&1`
	for name, escape := range map[string]string{
		"a background job":    beat + " &",
		"setsid":              "setsid" + beat + " &",
		"double fork":         "(setsid" + beat + " &) &",
		"ignores what it can": `trap "" TERM HUP; setsid` + beat + " &",
		"a storm":             `setsid ./storm "$PWD" &`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := realTempDir(t)
			write(t, filepath.Join(dir, "storm"), storm)
			chmod(t, filepath.Join(dir, "storm"), 0o755)
			t.Cleanup(func() { stopBeats(t, dir) })
			wait := escape + " until [ -e alive ]; do sleep 0.01; done"

			outside := finish(t, command(t, dir, "bash", "-c", wait))
			if outside.status != 0 || !beats(t, dir, patience) {
				t.Fatalf("without the sandbox: %+v, and nothing lives on", outside)
			}
			stopBeats(t, dir)

			for _, args := range [][]string{{"-c", wait}, {"--timeout", "300ms", "--grace", "100ms", "-c", wait + "; sleep 60"}} {
				forget(t, dir, "alive")
				forget(t, dir, "stop")
				o := sandboxed(t, dir, append([]string{"--mode", "workspace-write", "--verbose"}, args...)...)
				if o.status != 0 && o.status != statusTimeout || !strings.Contains(o.stderr, "tree           enforced") {
					t.Errorf("%v: %+v", args, o)
				}
				if beats(t, dir, silence) {
					t.Errorf("%v: something lives on", args)
				}
			}
		})
	}
}

// silence is how long a living process does not write at the most.
const silence = 500 * time.Millisecond

// beats removes the file that a living process writes, and reports whether it
// comes again in that time.
func beats(t *testing.T, dir string, within time.Duration) bool {
	t.Helper()
	alive := filepath.Join(dir, "alive")
	forget(t, dir, "alive")
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if exists(t, alive) {
			return true
		}
	}
	return false
}

func stopBeats(t *testing.T, dir string) {
	t.Helper()
	write(t, filepath.Join(dir, "stop"), "")
	for end := time.Now().Add(patience); beats(t, dir, silence); {
		if time.Now().After(end) {
			t.Fatal("what the test started does not stop")
		}
	}
}

// forget removes a file that may be missing.
func forget(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestChildrenFromBefore: a program that executes sandbox-exec in its own place
// leaves it its children. They are not the command's, and live on: the tree is
// then held by a control group, or not at all.
func TestChildrenFromBefore(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	dir := realTempDir(t)
	t.Cleanup(func() { stopBeats(t, dir) })
	script := `(while [ ! -e stop ]; do echo >alive; sleep 0.02; done) </dev/null >/dev/null 2>&1 &
		until [ -e alive ]; do sleep 0.01; done; exec sandbox-exec run --verbose -c true`
	o := finish(t, command(t, dir, "bash", "-c", script))
	byGroup := strings.Contains(o.stderr, "tree           enforced (control group, ") && !strings.Contains(o.stderr, "sub-reaper")
	if o.status != 0 || !byGroup && !strings.Contains(o.stderr, "tree           not enforced (this process had children before") {
		t.Errorf("%+v", o)
	}
	if !beats(t, dir, silence) {
		t.Error("the child from before is dead")
	}
}

// TestTheDeadAreReaped while the command runs: what it leaves behind becomes
// ours, and zombies would fill the machine's table of processes.
func TestTheDeadAreReaped(t *testing.T) {
	kerneltest.Require(t, kerneltest.Landlock(1), kerneltest.Program("bash"))
	count := `for i in {1..200}; do (/bin/true &); done; sleep 1; n=0
		for s in /proc/[0-9]*/stat; do read -r p c st pp rest <$s 2>/dev/null || continue; [[ $st == Z && $pp == $PPID ]] && n=$((n+1)); done; echo zombies $n`
	o := sandboxed(t, t.TempDir(), "--json", "fd:2", "-c", count)
	if o.stdout != "zombies 0\n" {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(o.stderr, `"leftover":0`) {
		t.Errorf("what had died already counts as left behind: %s", o.stderr)
	}
}
