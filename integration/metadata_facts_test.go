package integration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

func refusedAt(op fact.Op, path string) fact.Denial {
	return fact.Denial{
		Kind: fact.KindMetadata, Op: op, Path: path, Verdict: fact.Denied,
		Evidence: fact.EvidenceBroker, Rule: "outside the writable roots",
	}
}

// A refusal is one fact, however often it comes, and beside the program's own
// words for it. The run counts as denied only where it failed.
func TestMetadataFacts(t *testing.T) {
	needs(t, kerneltest.Program("chmod"), kerneltest.Program("touch"))
	file := filepath.Join(realTempDir(t), "file")
	for _, tt := range []struct {
		name, command string
		denied        bool
		want          []fact.Denial
	}{
		{"failed", "chmod 600 " + file, true, []fact.Denial{refusedAt(fact.OpChmod, file)}},
		{"twice", "chmod 600 " + file + "; chmod 640 " + file, true, []fact.Denial{refusedAt(fact.OpChmod, file)}},
		{"two kinds", "chmod 600 " + file + "; touch -c -d @0 " + file, true, []fact.Denial{refusedAt(fact.OpChmod, file), refusedAt(fact.OpUtime, file)}},
		{"went on", "chmod 600 " + file + "; true", false, []fact.Denial{refusedAt(fact.OpChmod, file)}},
		{"silent", "chmod 600 " + file + " 2>/dev/null; true", false, []fact.Denial{refusedAt(fact.OpChmod, file)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(t, file, "text")
			before := metadataLookAt(file)
			mustBash(t, "/", tt.command)
			if metadataLookAt(file) == before {
				t.Fatal("without the sandbox nothing changes")
			}
			before = metadataLookAt(file)
			for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
				r := shell(t, in(mode, realTempDir(t)), tt.command)
				if r.Denied != tt.denied || r.Exit.Failed() != tt.denied || !slices.Equal(exactOf(r), tt.want) || len(r.Denials) != len(tt.want) {
					t.Errorf("%s: %+v, denied %t, denials %+v, want %t and %+v\n%s", mode, r.Exit, r.Denied, r.Denials, tt.denied, tt.want, stderr(r))
				}
				if metadataLookAt(file) != before {
					t.Errorf("%s: it happened", mode)
				}
			}
		})
	}
}

// exactOf are the denials that the broker knows of.
func exactOf(r executor.Result) []fact.Denial {
	return slices.DeleteFunc(slices.Clone(r.Denials), func(d fact.Denial) bool { return d.Evidence != fact.EvidenceBroker })
}

// What fails without the sandbox as well is no denial.
func TestMetadataOrdinaryFailures(t *testing.T) {
	needs(t, kerneltest.Program("chmod"))
	missing := filepath.Join(realTempDir(t), "missing")
	commands := []string{"chmod 600 " + missing, "chmod 600 /proc/self/status", "chmod 600 /proc/sys/kernel/pid_max"}
	if os.Getuid() != 0 {
		commands = append(commands, "chmod 600 /etc/passwd", "touch -d @0 /etc/passwd", "touch -c /etc/passwd", "chgrp 0 /etc/passwd", "chown 0 /etc/passwd")
	}
	for _, command := range commands {
		if _, err := bash(t, "/", command); err == nil {
			t.Fatalf("%s: it succeeds without the sandbox", command)
		}
		for _, mode := range []policy.Mode{policy.ReadOnly, policy.WorkspaceWrite} {
			r := shell(t, in(mode, realTempDir(t)), command)
			failed(t, r)
			if len(r.Denials) > 0 || r.Denied {
				t.Errorf("%s: %s: denials %+v", mode, command, r.Denials)
			}
		}
	}
}

// A command may try what it likes: the list is bounded and says so.
func TestMetadataManyFacts(t *testing.T) {
	needs(t, kerneltest.Program("chmod"))
	const files, kept = 300, 256
	dir := realTempDir(t)
	for i := range files {
		write(t, filepath.Join(dir, fmt.Sprint(i)), "")
	}
	command := "chmod 600 " + dir + "/*"
	mustBash(t, "/", command)
	r := shell(t, in(policy.WorkspaceWrite, realTempDir(t)), command)
	failed(t, r)
	if got := exactOf(r); len(got) != kept {
		t.Errorf("%d facts, want %d", len(got), kept)
	}
	want := fmt.Sprintf("%d more changes of metadata were refused", files-kept)
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, want) }) {
		t.Errorf("warnings %q, want %q", r.Warnings, want)
	}
}

// A path is bytes; a fact has all of them.
func TestMetadataStrangePaths(t *testing.T) {
	needs(t)
	outside := realTempDir(t)
	long := outside
	for len(long) < 3800 {
		long = filepath.Join(long, strings.Repeat("d", 200))
	}
	if err := os.MkdirAll(long, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		filepath.Join(outside, "new\nline"), filepath.Join(outside, "invalid\xff\xfe"), filepath.Join(outside, "\x1b[31mred"),
		filepath.Join(outside, "gone (deleted)"), filepath.Join(long, "file"),
	} {
		t.Run(fmt.Sprintf("%.80q", filepath.Base(path)), func(t *testing.T) {
			write(t, path, "")
			if out, err := self(t, "as-victim", "do", "chmod", path).Output(); err != nil || string(out) != "ok\n" {
				t.Fatalf("without the sandbox: %v: %s", err, out)
			}
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
			r := run(t, newExecutor(t, executor.Config{}), executor.Request{
				Policy: in(policy.WorkspaceWrite, realTempDir(t)), Argv: []string{selfPath(t), "as-victim", "do", "chmod", path},
			})
			if stdout(r) != "EACCES\n" || !slices.Equal(r.Denials, []fact.Denial{refusedAt(fact.OpChmod, path)}) {
				t.Errorf("got %q, denials %+v", stdout(r), r.Denials)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("it happened: %v, %v", info, err)
			}
		})
	}
}

// What gives privileges is refused inside as well: a set-id bit of a file, and
// the attributes that the kernel reads as privileges. On a directory the bit
// says whose group new files get.
func TestMetadataPrivileges(t *testing.T) {
	needs(t, kerneltest.Program("chmod"))
	for _, tt := range []struct{ mode, object, rule string }{
		{"g+s", "dir", ""},
		{"u+s", "dir", ""},
		{"g+s", "file", "set-id bits"},
		{"u+s", "file", "set-id bits"},
	} {
		command := "chmod " + tt.mode + " " + tt.object
		work := realTempDir(t)
		mustBash(t, work, "mkdir dir && touch file && chmod 644 file && "+command+" && "+"chmod ug-s "+tt.object)
		r := shell(t, in(policy.WorkspaceWrite, work), command)
		if tt.rule == "" {
			succeeded(t, r)
			continue
		}
		want := refusedAt(fact.OpChmod, filepath.Join(work, tt.object))
		want.Rule = tt.rule
		if !r.Exit.Failed() || !slices.Equal(exactOf(r), []fact.Denial{want}) || !strings.Contains(stderr(r), "not permitted") {
			t.Errorf("%s: %+v, denials %+v, want %+v: %s", command, r.Exit, r.Denials, want, stderr(r))
		}
		if text := metadataLookAt(filepath.Join(work, tt.object)).Text; !strings.HasPrefix(text, "100644") {
			t.Errorf("%s: it happened: %s", command, text)
		}
	}
}

// TestMetadataSecurityAttributes needs root, who alone may set them.
func TestMetadataSecurityAttributes(t *testing.T) {
	needs(t, kerneltest.Root)
	work := realTempDir(t)
	file := filepath.Join(work, "file")
	write(t, file, "")
	call := []string{selfPath(t), "as-victim", "do", "security", file}
	if out, err := outside(t, call...).Output(); err != nil || string(out) != "ok\n" {
		t.Fatalf("without the sandbox: %v: %s", err, out)
	}
	write(t, filepath.Join(work, "other"), "")
	call[4] = filepath.Join(work, "other")
	r := run(t, newExecutor(t, executor.Config{}), executor.Request{Policy: in(policy.WorkspaceWrite, work), Argv: call})
	want := refusedAt(fact.OpXattr, call[4])
	want.Rule = "attributes that the kernel reads as privileges"
	if stdout(r) != "EPERM\n" || !slices.Equal(r.Denials, []fact.Denial{want}) {
		t.Errorf("got %q, denials %+v", stdout(r), r.Denials)
	}
}
