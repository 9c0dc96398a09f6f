package kerneltest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// requireVariable lists, separated by commas, the features whose absence fails
// a test instead of skipping it.
const requireVariable = "SANDBOX_REQUIRE"

// Require ends the test unless every feature is present: it fails the test
// where SANDBOX_REQUIRE lists the missing feature (or a higher level of it),
// and skips it otherwise.
func Require(t testing.TB, features ...Feature) {
	t.Helper()
	required, err := parseRequired(os.Getenv(requireVariable))
	if err != nil {
		t.Fatalf("%s: %v", requireVariable, err)
	}
	for _, f := range features {
		requireOne(t, f, required)
	}
}

func requireOne(t testing.TB, f Feature, required map[string]int) {
	t.Helper()
	name, level, err := f.split()
	if err != nil {
		t.Fatal(err)
	}
	missing := f.check()
	if missing == nil {
		return
	}
	if must, listed := required[name]; listed && level <= must {
		t.Fatalf("%s is listed in %s and missing: %v", f, requireVariable, missing)
	}
	t.Skipf("needs %s: %v", f, missing)
}

// parseRequired maps the names in a SANDBOX_REQUIRE list to their levels. A
// malformed entry is an error: read as nothing, it would turn failures into
// skips.
func parseRequired(list string) (map[string]int, error) {
	required := map[string]int{}
	if list == "" {
		return required, nil
	}
	for entry := range strings.SplitSeq(list, ",") {
		name, level, err := Feature(strings.TrimSpace(entry)).split()
		if err != nil {
			return nil, fmt.Errorf("entry %q: %w", entry, err)
		}
		required[name] = level
	}
	return required, nil
}
