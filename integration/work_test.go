package integration

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// job is ordinary work that must succeed, with what it must print.
type job struct {
	name, command, want string
	programs            []string
}

const helloC = `printf '#include <stdio.h>\nint main(void){puts("hello");return 0;}\n' >h.c && gcc -o h h.c && ./h`

// workspaceJobs need the workspace; case C09 is the second and third.
var workspaceJobs = []job{
	{"files", `echo 1 >f; echo 2 >>f; cp f g; mv g h; rm f; mkdir -p d/e; rmdir d/e; ln -s h s; cat s; : >h; cat s`, "1\n2\n", nil},
	{"link and mv across directories", `mkdir a b; echo 1 >a/f; ln a/f b/g && mv a/f b/h; cat b/g b/h; ls a`, "1\n1\n", nil},
	{"rename across directories", `mkdir a b; echo 1 >a/f; /usr/bin/python3 -c 'import os; os.rename("a/f","b/f")' && cat b/f`, "1\n", []string{"/usr/bin/python3"}},
	{"mv of a directory", `mkdir -p a/d b; echo 1 >a/d/f; mv a/d b/e; cat b/e/f`, "1\n", nil},
	{"git", `git init -q r && cd r && echo 1 >f && git add f && git -c user.name=a -c user.email=a@b commit -qm one && git log --format=%s`, "one\n", []string{"git"}},
	{"gcc", helloC, "hello\n", []string{"gcc"}},
	// In read-only the linker's chmod is refused, in the scratch directory too.
	{"gcc in scratch", `cd $TMPDIR && ` + helloC, "hello\n", []string{"gcc"}},
	{"fifo and socket", `mkfifo p; echo through >p & cat p; wait`, "through\n", nil},
	{"tar", `mkdir d; echo 1 >d/f; tar cf a.tar d; mkdir o; tar xf a.tar -C o; cat o/d/f`, "1\n", []string{"tar"}},
}

// scratchJobs need no more than the scratch directory, so that they work in
// read-only too; case L10.
var scratchJobs = []job{
	{"mktemp", `d=$(mktemp -d) && f=$(mktemp) && echo ok >$d/f && cat $d/f && case $f in $TMPDIR/*) echo in scratch;; esac`, "ok\nin scratch\n", nil},
	{"tempfile", `/usr/bin/python3 -c 'import tempfile; d = tempfile.mkdtemp(); open(d + "/f", "w").write("x"); print(open(d + "/f").read())'`, "x\n", []string{"/usr/bin/python3"}},
	{"big here-document", "wc -c <<EOF\n" + strings.Repeat(strings.Repeat("x", 99)+"\n", 1000) + "EOF", "100000\n", nil},
	{"process substitution", `cat <(echo a) <(echo b); echo c > >(cat); wait $!`, "a\nb\nc\n", nil},
	{"devices", `echo x >/dev/null; head -c 2 /dev/zero | wc -c; head -c 4 /dev/urandom | wc -c; head -c 4 /dev/random | wc -c; echo x 2>/dev/null >/dev/full || echo full`, "2\n4\n4\nfull\n", nil},
	{"standard streams by name", `echo out >/dev/stdout; echo err >/dev/stderr; cat /dev/stdin; cat </dev/fd/0; [ -t 0 ] || echo no terminal`, "out\nno terminal\n", nil},
	{"openpty", `/usr/bin/python3 -c 'import os; m = os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY); print("made")'`, "made\n", []string{"/usr/bin/python3"}},
	{"go build", `mkdir $TMPDIR/m && cd $TMPDIR/m && echo 'package p; func F() int { return 1 }' >p.go && echo 'module m' >go.mod && HOME=$TMPDIR GOFLAGS=-mod=mod GOCACHE=$TMPDIR/c go build -o $TMPDIR/p.a . && [ -s $TMPDIR/p.a ] && echo built`, "built\n", []string{"go"}},
	{"own processes", `sleep 60 & kill $!; wait $!; echo $?; [ -r /proc/self/environ ] && tr '\0' '\n' </proc/$$/environ | grep -c ^PATH=`, "143\n1\n", nil},
}

func TestWorkInTheWorkspace(t *testing.T) {
	runJobs(t, policy.WorkspaceWrite, append(workspaceJobs, scratchJobs...))
}

func TestWorkInScratch(t *testing.T) {
	runJobs(t, policy.ReadOnly, scratchJobs)
}

func runJobs(t *testing.T, mode policy.Mode, jobs []job) {
	// Link and rename across directories need ABI 2.
	kerneltest.Require(t, kerneltest.Landlock(2))
	e := newExecutor(t, executor.Config{})
	for _, j := range jobs {
		t.Run(j.name, func(t *testing.T) {
			needs(t)
			for _, program := range j.programs {
				kerneltest.Require(t, kerneltest.Program(program))
			}
			r := run(t, e, executor.Request{Policy: in(mode, realTempDir(t)), Command: j.command})
			succeeded(t, r)
			if stdout(r) != j.want {
				t.Errorf("got %q, want %q; stderr %q", r.Stdout.Tail, j.want, r.Stderr.Tail)
			}
		})
	}
}

// The same scratch jobs change nothing in the workspace of read-only.
func TestReadOnlyLeavesTheWorkspaceAlone(t *testing.T) {
	needs(t)
	for _, act := range []string{
		"echo x >new", "echo x >>old", "rm old", "mv old other", "ln old other", "mkdir new",
		"ln -s old new", "mkfifo new", "truncate -s 0 old", "rmdir d", "mv d e",
	} {
		t.Run(act, func(t *testing.T) {
			work := filepath.Join(realTempDir(t), "work")
			fresh(t, work)
			before := tree(t, work)
			mustBash(t, work, act)
			if tree(t, work) == before {
				t.Fatal("without the sandbox it changes nothing")
			}
			fresh(t, work)
			failed(t, shell(t, in(policy.ReadOnly, work), act))
			if got := tree(t, work); got != before {
				t.Errorf("it became %s", got)
			}
		})
	}
}

// fresh makes dir hold a file "old" and a directory "d".
func fresh(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "old"), "old")
}

// tree lists what dir holds, with kinds and contents.
func tree(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, entry := range entries {
		text := entry.Name() + " " + entry.Type().String()
		if entry.Type().IsRegular() {
			text += " " + read(t, filepath.Join(dir, entry.Name()))
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// Case L04: a root that is a file, and one that may be missing.
func TestWritableRoots(t *testing.T) {
	needs(t)
	dir, work := realTempDir(t), realTempDir(t)
	file, beside := filepath.Join(dir, "file"), filepath.Join(dir, "beside")
	write(t, file, "old")
	write(t, beside, "old")
	p := in(policy.WorkspaceWrite, work)
	p.Writable = []policy.Root{{Path: file}, {Path: filepath.Join(dir, "missing"), Optional: true}}
	succeeded(t, shell(t, p, "echo new >"+file+" && : >"+work+"/f"))
	if got := read(t, file); got != "new\n" {
		t.Errorf("the root holds %q", got)
	}
	mustBash(t, work, "echo direct >"+beside)
	r := shell(t, p, "echo new >"+beside)
	failed(t, r)
	if got := read(t, beside); got != "direct\n" || !r.Denied {
		t.Errorf("the file beside it holds %q, denials %+v", got, r.Denials)
	}
}

// /tmp can be written only where that was asked.
func TestTemp(t *testing.T) {
	needs(t)
	work := realTempDir(t)
	file := filepath.Join("/tmp", filepath.Base(work)+"-integration-"+strings.ReplaceAll(t.Name(), "/", "-"))
	t.Cleanup(func() { _ = os.Remove(file) })
	mustBash(t, work, "echo x >"+file+" && rm "+file)
	p := in(policy.ReadOnly, work)
	failed(t, shell(t, p, "echo x >"+file))
	if exists(t, file) {
		t.Fatal("private: it was written")
	}
	p.Temp = policy.TempHost
	state, err := os.MkdirTemp("/var/tmp", "integration") // the usual one lies in /tmp
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(state) })
	e := newExecutor(t, executor.Config{StateDir: state})
	succeeded(t, run(t, e, executor.Request{Policy: p, Command: "echo x >" + file}))
	if !exists(t, file) {
		t.Error("host: it was not written")
	}
}
