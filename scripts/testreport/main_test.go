package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const passing = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
`

func TestReport(t *testing.T) {
	tests := []struct {
		name, status, events string
		failed               bool
		want                 []string
	}{
		{"passes", "0", passing + `{"Action":"pass","Package":"p"}`, false, []string{"skips: none\n1 passed, 0 failed, 0 skipped\n"}},
		{
			"skips", "0", passing + `{"Action":"run","Package":"p","Test":"TestB"}
				{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: needs tty: no\n"}
				{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
				{"Action":"skip","Package":"p","Test":"TestB"}{"Action":"pass","Package":"p"}`,
			false,
			[]string{"skips:\n  unit: p TestB: b_test.go:3: needs tty: no\n1 passed, 0 failed, 1 skipped\n"},
		},
		{"no test files", "0", passing + `{"Action":"pass","Package":"p"}{"Action":"start","Package":"q"}{"Action":"skip","Package":"q"}`, false, []string{"1 passed, 0 failed, 0 skipped\n"}},
		{
			"fails", "1", `{"Action":"run","Package":"p","Test":"TestA"}{"Action":"fail","Package":"p","Test":"TestA"}{"Action":"fail","Package":"p"}`,
			true,
			[]string{"unit: p TestA\n", "0 passed, 1 failed, 0 skipped\n"},
		},
		{"does not build", "1", passing + `{"Action":"pass","Package":"p"}{"Action":"fail","Package":"q"}`, true, []string{"q: the package failed", "1 passed, 1 failed"}},
		{"ends early", "0", passing, true, []string{"p: did not end", "1 passed, 1 failed"}},
		{"half a line", "0", passing + `{"Action":"pass","Pack`, true, []string{"unexpected EOF", " 2 failed"}},
		{"not events", "0", "panic: x", true, []string{"1 failed"}},
		{"status alone", "124", passing + `{"Action":"pass","Package":"p"}`, true, []string{"ended with status 124", "1 failed"}},
		{"nothing", "0", "", true, []string{"no test ran", "0 passed, 1 failed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "events")
			if err := os.WriteFile(file, []byte(tt.events), 0o600); err != nil {
				t.Fatal(err)
			}
			checkReport(t, "unit="+tt.status+"="+file, tt.failed, tt.want)
		})
	}
	checkReport(t, "unit=0=/nonexistent", true, []string{"no such file", "0 passed, 1 failed"})
}

func checkReport(t *testing.T, run string, failed bool, want []string) {
	t.Helper()
	var out strings.Builder
	got, err := report(&out, []string{run})
	if err != nil || got != failed {
		t.Errorf("failed: got %v (%v), want %v", got, err, failed)
	}
	for _, text := range want {
		if !strings.Contains(out.String(), text) {
			t.Errorf("got %q, want %q in it", out.String(), text)
		}
	}
}
