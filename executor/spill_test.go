package executor

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func wantSpill(t *testing.T, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("the spill file has %d bytes, %v; wanted %d", len(got), err, len(want))
	}
	for place, mode := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
		if info, err := os.Stat(place); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s is %v, %v; wanted %o", place, info, err, mode)
		}
	}
}

func TestSpill(t *testing.T) {
	e := newExecutor(t, Config{})
	for _, tt := range []struct {
		name    string
		request Request
		spilled bool
		want    string
	}{
		{"what memory keeps", Request{Command: "head -c 64000 /dev/zero"}, false, ""},
		{"a byte more", Request{Command: "head -c 64001 /dev/zero"}, true, strings.Repeat("\x00", 64001)},
		{"what a writer gets", Request{Command: "head -c 64001 /dev/zero", Stdout: &bytes.Buffer{}}, false, ""},
		{"that as well", Request{Command: "head -c 64001 /dev/zero", Stdout: &bytes.Buffer{}, Spill: SpillAlways}, true, strings.Repeat("\x00", 64001)},
		{"never", Request{Command: "head -c 64001 /dev/zero", Spill: SpillNever}, false, ""},
		{"written at the end", Request{Command: "printf a; sleep 0.1; head -c 200000 /dev/zero"}, true, "a" + strings.Repeat("\x00", 200_000)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := e.Run(t.Context(), resolve(t, e, tt.request))
			if err != nil || (r.Stdout.Spill != "") != tt.spilled || r.Stdout.SpillError != nil || r.Stderr.Spill != "" {
				t.Fatalf("got %q, %v, %v", r.Stdout.Spill, r.Stdout.SpillError, err)
			}
			if tt.spilled {
				wantSpill(t, r.Stdout.Spill, tt.want)
			}
		})
	}
}

// TestSpillTooLong: a file that cannot be whole is no file. That is one line of 200
// MB, too.
func TestSpillTooLong(t *testing.T) {
	e := newExecutor(t, Config{})
	r, err := e.Run(t.Context(), resolve(t, e, Request{Command: "head -c 200000000 /dev/zero"}))
	if err != nil || r.Stdout.Bytes != 200_000_000 || r.Stdout.Spill != "" || !errors.Is(r.Stdout.SpillError, errSpillTooLong) {
		t.Errorf("got %d bytes, %q, %v, %v", r.Stdout.Bytes, r.Stdout.Spill, r.Stdout.SpillError, err)
	}
	if files, _ := listSpills(e.spills.dir); len(files) > 0 {
		t.Errorf("left: %v", files)
	}
	r, err = e.Run(t.Context(), resolve(t, e, Request{Command: "head -c 67108864 /dev/zero"}))
	if info, statErr := os.Stat(r.Stdout.Spill); err != nil || statErr != nil || info.Size() != spillLimit {
		t.Errorf("just the limit: %q, %v, %v", r.Stdout.Spill, r.Stdout.SpillError, err)
	}
}

// TestSpillIsReadOnlyInside: the model is told the path, and reads it by the next
// command; nobody's command can change it.
func TestSpillIsReadOnlyInside(t *testing.T) {
	e := newExecutor(t, Config{})
	r, err := e.Run(t.Context(), resolve(t, e, Request{Command: "head -c 70000 /dev/zero", Owner: "a"}))
	if err != nil {
		t.Fatal(err)
	}
	path := r.Stdout.Spill
	f, err := os.OpenFile(path, os.O_WRONLY, 0) // without the sandbox it can be written
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	inside := Request{Owner: "a", Command: "wc -c < " + path + "; : >> " + path + " || rm -f " + path + " || : > " + filepath.Dir(path) + "/x"}
	r, err = e.Run(t.Context(), resolve(t, e, inside))
	if err != nil || string(r.Stdout.Tail) != "70000\n" || !r.Exit.Failed() {
		t.Errorf("got %q, %q, %+v, %v", r.Stdout.Tail, r.Stderr.Tail, r.Exit, err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 70_000 {
		t.Errorf("the file is %v, %v", info, err)
	}
}

// TestSpillSweep: what is old goes, and the oldest above the total, but not what is
// written.
func TestSpillSweep(t *testing.T) {
	s := spills{dir: filepath.Join(t.TempDir(), "output")}
	s.sweep.last = time.Now().Add(time.Hour) // by hand
	make := func(owner string, age time.Duration) *os.File {
		f, err := s.create(owner, "stdout")
		if err != nil {
			t.Fatal(err)
		}
		then := time.Now().Add(-age)
		if _, err := f.Write(bytes.Repeat([]byte("x"), 1000)); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f.Name(), then, then); err != nil {
			t.Fatal(err)
		}
		return f
	}
	live, old := make("a", 48*time.Hour), make("gone", 25*time.Hour)
	older, newer := make("a", 2*time.Hour), make("a", time.Hour)
	for _, f := range []*os.File{old, older, newer} {
		f.Close()
	}
	check := func(total int64, want ...*os.File) {
		t.Helper()
		sweepSpills(s.dir, total)
		files, _ := listSpills(s.dir)
		if len(files) != len(want) {
			t.Errorf("%d files are left, wanted %d", len(files), len(want))
		}
		for _, f := range want {
			if _, err := os.Stat(f.Name()); err != nil {
				t.Error(err)
			}
		}
	}
	check(spillTotal, live, older, newer)
	if _, err := os.Stat(filepath.Dir(old.Name())); !os.IsNotExist(err) {
		t.Errorf("the empty directory of an owner: %v", err)
	}
	check(2000, live, newer)
	check(1, live)
	live.Close()
	check(spillTotal)
}

func TestDelta(t *testing.T) {
	var kept tail
	want := func(step string, d Delta, data string, from int64, lossy bool) {
		t.Helper()
		if string(d.Data) != data || d.From != from || d.To != from+int64(len(data)) || d.Lossy != lossy {
			t.Errorf("%s: got %q, %d to %d, lossy %v; wanted %q from %d, %v", step, d.Data, d.From, d.To, d.Lossy, data, from, lossy)
		}
	}
	want("nothing", kept.next(flowing), "", 0, false)
	_, _ = kept.Write([]byte("aé\xe2\x82"))
	want("a character that is not whole", kept.next(flowing), "aé", 0, false)
	_, _ = kept.Write([]byte("\xac\xff"))
	want("its end, and a byte that is none", kept.next(flowing), "€\xff", 3, false)
	_, _ = kept.Write([]byte(strings.Repeat("é", tailLimit/2) + "x"))
	want("a flood", kept.next(flowing), strings.Repeat("é", tailLimit/2-1)+"x", 9, true)
	_, _ = kept.Write([]byte("\xe2"))
	want("the last is not whole", kept.next(over), "\xe2", 7+tailLimit+1, false)
	want("at the end", kept.next(over), "", 7+tailLimit+2, false)
}
