package integration

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/keeper"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// scratches lists the scratch directories below a state directory.
func scratches(t *testing.T, state string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(state, "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What an owner that was killed left behind goes when the next one comes; what
// a live one uses stays.
func TestDeadOwnerIsSwept(t *testing.T) {
	needs(t)
	state, work := stateDir(t), realTempDir(t)
	cmd := self(t, "as-runner", work, state, "echo $$ >shell; touch $TMPDIR/left; sleep 60 & sleep 60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); len(globbed(t, state+"/run-*/tmp/left")) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the run did not begin")
		}
	}
	group := number(strings.TrimSpace(read(t, filepath.Join(work, "shell"))))
	newExecutor(t, executor.Config{StateDir: state})
	if list := scratches(t, state); len(list) != 1 {
		t.Fatalf("while its owner lives: %v", list)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if !gone(group) {
		t.Error("the shell outlives its caller")
	}
	_ = unix.Kill(-group, unix.SIGKILL) // the others, as documented
	if list := scratches(t, state); len(list) != 1 {
		t.Fatalf("after its owner's end: %v", list)
	}
	newExecutor(t, executor.Config{StateDir: state})
	if list := scratches(t, state); len(list) != 0 {
		t.Errorf("after the sweep: %v", list)
	}
}

func globbed(t *testing.T, pattern string) []string {
	t.Helper()
	list, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// An owner of another boot or namespace may live on a machine that shares the
// directory; a number that was given to another process is not that owner.
func TestSweepTellsOwnersApart(t *testing.T) {
	needs(t)
	self, err := keeper.NewName()
	if err != nil {
		t.Fatal(err)
	}
	ended := outside(t, "true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	with := func(change func(*keeper.Name)) string {
		name := self
		name.PID = uint64(ended.Process.Pid)
		change(&name)
		return "run-" + name.String()
	}
	tests := map[string]bool{ // stays
		with(func(*keeper.Name) {}): false,
		with(func(n *keeper.Name) { n.PID, n.Start = self.PID, self.Start+1 }): false,
		with(func(n *keeper.Name) { n.PID, n.Serial = self.PID, "live" }):      true,
		with(func(n *keeper.Name) { n.Boot = "00000000" }):                     true,
		with(func(n *keeper.Name) { n.Namespace++ }):                           true,
		"run-other":  true,
		"somebody's": true,
		strings.Replace(with(func(*keeper.Name) {}), "run-", "unknown-", 1): true,
	}
	state := stateDir(t)
	for name := range tests {
		if err := os.Mkdir(filepath.Join(state, name), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(state, name, "file"), "")
	}
	newExecutor(t, executor.Config{StateDir: state})
	for name, stays := range tests {
		if got := exists(t, filepath.Join(state, name, "file")); got != stays {
			t.Errorf("%s: there %t, want %t", name, got, stays)
		}
	}
}

// Removing a scratch directory follows no symlink and needs no permission that
// the command took away; a Go module cache is made of such directories.
func TestScratchIsRemoved(t *testing.T) {
	needs(t)
	precious := realTempDir(t)
	write(t, filepath.Join(precious, "file"), "precious")
	if err := os.Mkdir(filepath.Join(precious, "closed"), 0o555); err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{
		"read-only directories": `mkdir -p a/b/c && echo x >a/b/c/f && chmod 444 a/b/c/f && chmod 555 a/b/c a/b a`,
		"closed directories":    `mkdir -p a/b && echo x >a/b/f && chmod 0 a/b a`,
		"itself closed":         `mkdir a && chmod 0 $TMPDIR`,
		"symlinks to outside":   `ln -s $OUT out; ln -s $OUT/file file; ln -s $OUT/closed closed; ln -s / root`,
		"behind closed ones":    `mkdir a; ln -s $OUT a/out; ln -s $OUT/closed a/closed; chmod 555 a`,
		"deep":                  `for i in {1..300}; do mkdir ddddddddddddddddddddd && cd ddddddddddddddddddddd || exit 1; done`,
		"odd names":             `mkdir -- -r $'new\nline' ' '; touch -- -f $'\377'`,
		"special files":         `mkfifo p; /usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'; :`,
	} {
		t.Run(name, func(t *testing.T) {
			state, work := stateDir(t), realTempDir(t)
			e := newExecutor(t, executor.Config{StateDir: state})
			r := run(t, e, executor.Request{
				Policy: in(policy.WorkspaceWrite, work), Command: "cd $TMPDIR && " + command, Env: []string{"OUT=" + precious},
			})
			if r.Exit.Failed() {
				t.Fatalf("%+v: %s", r.Exit, r.Stderr.Tail)
			}
			if list := scratches(t, state); len(list) != 0 {
				t.Errorf("left: %v", list)
			}
			if got := read(t, filepath.Join(precious, "file")); got != "precious" {
				t.Errorf("the file outside holds %q", got)
			}
			info, err := os.Stat(filepath.Join(precious, "closed"))
			if err != nil || info.Mode().Perm() != 0o555 {
				t.Errorf("the directory outside: %v, %v", info, err)
			}
		})
	}
}

// No command can write in the state directory, nor in the scratch of another.
func TestStateCannotBeWritten(t *testing.T) {
	needs(t)
	state, work := stateDir(t), realTempDir(t)
	mustBash(t, state, "touch f && rm f")
	e := newExecutor(t, executor.Config{StateDir: state})
	p := in(policy.WorkspaceWrite, work)
	failed(t, run(t, e, executor.Request{Policy: p, Command: "touch " + state + "/f"}))
	failed(t, run(t, e, executor.Request{Policy: p, Command: "rm " + state + "/proof"}))

	first := make(chan executor.Result, 1)
	mustBash(t, work, "mkfifo place end")
	go func() {
		r, err := tryRun(e, executor.Request{Policy: p, Command: "echo $TMPDIR >place; read x <end; ls $TMPDIR"})
		if err != nil {
			t.Error(err)
		}
		first <- r
	}()
	place, err := os.Open(filepath.Join(work, "place"))
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	other, err := bufio.NewReader(place).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	other = strings.TrimSpace(other)
	mustBash(t, work, "touch "+other+"/f && rm "+other+"/f")
	failed(t, run(t, e, executor.Request{Policy: p, Command: "touch " + other + "/planted"}))
	mustBash(t, work, "echo >end")
	if r := <-first; stdout(r) != "" {
		t.Errorf("the first run finds %q in its scratch directory", r.Stdout.Tail)
	}
}
