package integration

import (
	"bytes"
	"crypto/sha256"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// mostKept is Output.Tail's documented bound, in bytes.
const mostKept = 64_000

func TestOutputIsExact(t *testing.T) {
	needs(t)
	tests := []struct{ name, command, want string }{
		{"nothing", "true", ""},
		{"no final newline", "printf 'a\nb'", "a\nb"},
		{"NUL bytes", `printf 'a\0b\0'`, "a\x00b\x00"},
		{"invalid UTF-8", `printf '\377\376\n\303'`, "\xff\xfe\n\xc3"},
		{"carriage returns", `printf '1%%\r2%%\r\n'`, "1%\r2%\r\n"},
		{"five megabytes", "head -c 5000000 /dev/zero | tr '\\0' x", strings.Repeat("x", 5_000_000)},
		{"one line of two megabytes", "head -c 2000000 /dev/zero", strings.Repeat("\x00", 2_000_000)},
		{"just what is kept", "head -c 64000 /dev/zero | tr '\\0' y", strings.Repeat("y", mostKept)},
		{"a byte more", "head -c 64001 /dev/zero | tr '\\0' y", strings.Repeat("y", mostKept+1)},
		{"runes across the cut", "printf 'é%.0s' {1..40000}", strings.Repeat("é", 40_000)},
		{"odd runes across the cut", "printf x; printf 'é%.0s' {1..40000}", "x" + strings.Repeat("é", 40_000)},
		{"written at the very end", "sleep 0.1; head -c 200000 /dev/zero", strings.Repeat("\x00", 200_000)},
	}
	e := newExecutor(t, executor.Config{Environ: []string{"LC_ALL=C"}})
	for _, tt := range tests {
		for _, stream := range []string{"stdout", "stderr"} {
			t.Run(tt.name+" "+stream, func(t *testing.T) {
				var seen bytes.Buffer
				request := executor.Request{Policy: in(policy.ReadOnly, realTempDir(t)), Command: tt.command, Stdout: &seen}
				if stream == "stderr" {
					request.Command, request.Stdout, request.Stderr = "{ "+tt.command+"; } >&2", nil, &seen
				}
				r := run(t, e, request)
				out, other := r.Stdout, r.Stderr
				if stream == "stderr" {
					out, other = other, out
				}
				if r.Exit.Failed() || other.Bytes != 0 {
					t.Fatalf("%+v, the other stream: %q", r.Exit, other.Tail)
				}
				checkOutput(t, out, seen.String(), tt.want)
			})
		}
	}
}

func checkOutput(t *testing.T, out executor.Output, seen, want string) {
	t.Helper()
	if seen != want {
		t.Errorf("streamed %d bytes, sum %x, want %d, %x", len(seen), sha256.Sum256([]byte(seen)), len(want), sha256.Sum256([]byte(want)))
	}
	if out.Bytes != int64(len(want)) || out.Truncated != (len(out.Tail) < len(want)) {
		t.Errorf("%d bytes counted, truncated %t; want %d and a tail of %d", out.Bytes, out.Truncated, len(want), len(out.Tail))
	}
	least := min(len(want), mostKept-utf8.UTFMax)
	if len(out.Tail) > mostKept || len(out.Tail) < least || !strings.HasSuffix(want, string(out.Tail)) {
		t.Errorf("the tail has %d bytes, want the last %d to %d", len(out.Tail), least, mostKept)
	}
	if utf8.ValidString(want) && !utf8.Valid(out.Tail) {
		t.Errorf("the tail begins inside a character: %q", out.Tail[:4])
	}
}

// No run of many loses the end of its output.
func TestOutputEndIsNotLost(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{})
	work := realTempDir(t)
	for i := range kerneltest.Fewer(50) {
		r := run(t, e, executor.Request{Policy: in(policy.ReadOnly, work), Command: "head -c 100000 /dev/zero; echo end; echo end >&2"})
		if r.Stdout.Bytes != 100_004 || !strings.HasSuffix(stdout(r), "end\n") || stderr(r) != "end\n" {
			t.Fatalf("run %d: %d bytes, stderr %q", i, r.Stdout.Bytes, r.Stderr.Tail)
		}
	}
}

// A flood is bounded by what is kept, not by what is written.
func TestFloodDoesNotGrowMemory(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{Grace: testGrace})
	p := in(policy.ReadOnly, realTempDir(t))
	run(t, e, executor.Request{Policy: p, Command: "yes", Timeout: testTimeout / 4})
	before := heap()
	r := run(t, e, executor.Request{Policy: p, Command: "yes & yes >&2 & wait", Timeout: testTimeout})
	if r.Stdout.Bytes < 10<<20 {
		t.Errorf("only %d bytes of a flood", r.Stdout.Bytes)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("after %d bytes the heap holds %d more", r.Stdout.Bytes+r.Stderr.Bytes, grown)
	}
	runtime.KeepAlive(r)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What the caller gives is the input; without it there is none.
func TestInput(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{Grace: testGrace})
	p := in(policy.ReadOnly, realTempDir(t))
	if r := run(t, e, executor.Request{Policy: p, Command: "cat; echo done"}); stdout(r) != "done\n" {
		t.Errorf("without input: %q", r.Stdout.Tail)
	}
	if r := run(t, e, executor.Request{Policy: p, Command: "read x; readlink /proc/self/fd/0"}); stdout(r) != "/dev/null\n" {
		t.Errorf("without input it is %q", r.Stdout.Tail)
	}
	big := strings.Repeat("line\n", 1<<18)
	if r := run(t, e, executor.Request{Policy: p, Command: "wc -c", Stdin: strings.NewReader(big)}); strings.TrimSpace(stdout(r)) != "1310720" {
		t.Errorf("of 1310720 bytes arrive %q", r.Stdout.Tail)
	}
	if r := run(t, e, executor.Request{Policy: p, Command: "head -n 1", Stdin: strings.NewReader(big)}); stdout(r) != "line\n" || r.Exit.Failed() {
		t.Errorf("not all is read: %+v, %q", r.Exit, r.Stdout.Tail)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer writer.Close()
	begin := time.Now()
	if r := run(t, e, executor.Request{Policy: p, Command: "echo done", Stdin: reader}); stdout(r) != "done\n" || time.Since(begin) > testLate {
		t.Errorf("input that never comes: %q after %s", r.Stdout.Tail, time.Since(begin))
	}
}

// A writer that fails is a reader that went away: the command gets SIGPIPE.
func TestOutputNobodyWants(t *testing.T) {
	needs(t)
	e := newExecutor(t, executor.Config{Grace: testGrace})
	reader, writer := io.Pipe()
	reader.Close()
	r := run(t, e, executor.Request{Policy: in(policy.ReadOnly, realTempDir(t)), Command: "yes", Stdout: writer})
	if r.Exit.Code != 141 {
		t.Errorf("got %+v, want 141", r.Exit)
	}
}
