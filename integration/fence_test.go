// Package integration holds tests that need more than one package: the import
// fence, and real commands under real policies. It has no product code.
package integration

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const fenceModule = "github.com/sandbox-exec/sandbox-exec"

// fenceImports says which of our packages each package may import. A package
// that is not listed may not exist: a new one gets a row here and in
// docs/architecture.md first.
var fenceImports = map[string][]string{
	"policy":                  {},
	"fact":                    {"policy"},
	"confine/landlock":        {"internal/nofollow", "policy", "fact"},
	"confine/seccomp":         {"policy"},
	"confine/cgroups":         {"policy", "fact"},
	"confine":                 {"confine/landlock", "confine/seccomp", "internal/nofollow", "policy", "fact"},
	"keeper":                  {"confine", "confine/cgroups", "keeper/broker", "keeper/systemd", "policy", "fact"},
	"keeper/broker":           {"policy", "fact"},
	"keeper/systemd":          {},
	"classify":                {"policy", "fact"},
	"executor":                {"confine", "keeper", "classify", "policy", "fact"},
	"tool":                    {"executor", "policy", "fact"},
	"mcpserver":               {"tool", "executor", "policy"},
	"cmd/sandbox-exec-mcp":    {"mcpserver", "tool", "executor", "policy"},
	"cmd/sandbox-exec":        {"policy", "fact", "confine", "confine/landlock", "confine/seccomp", "confine/cgroups", "keeper", "keeper/broker", "classify", "executor", "tool", "schemas", "internal/reportfile"},
	"schemas":                 {},
	"internal/nofollow":       {},
	"internal/reportfile":     {"internal/nofollow"},
	"internal/kerneltest":     {},
	"scripts/testreport":      {},
	"scripts/kernelspage":     {},
	"confine/seccomp/compile": {"confine/seccomp", "policy"},

	"internal/kerneltest/features": {"internal/kerneltest"},
}

// fenceFile is one parsed Go file; name is slash-separated and relative to the
// module's root.
type fenceFile struct {
	name  string
	set   *token.FileSet
	tree  *ast.File
	found []string
}

func fenceParse(name string, text []byte) (*fenceFile, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	return &fenceFile{name: name, set: set, tree: tree}, err
}

func (f *fenceFile) dir() string  { return path.Dir(f.name) }
func (f *fenceFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f *fenceFile) report(at token.Pos, format string, args ...any) {
	where := fmt.Sprintf("%s:%d: ", f.name, f.set.Position(at).Line)
	f.found = append(f.found, where+fmt.Sprintf(format, args...))
}

func TestFence(t *testing.T) {
	root := fenceRoot(t)
	files, scripts := fenceLoad(t, root)
	for _, f := range files {
		for _, rule := range fenceRules {
			rule(f)
		}
		for _, finding := range f.found {
			t.Error(finding)
		}
	}
	for _, finding := range fencePackageComments(files) {
		t.Error(finding)
	}
	for name, text := range scripts {
		for _, finding := range fenceScript(name, text) {
			t.Error(finding)
		}
	}
}

// fenceRoot is the nearest directory above this one with a go.mod of ours.
func fenceRoot(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte("module "+fenceModule+"\n")) {
			return dir
		}
	}
	t.Fatalf("no go.mod of %s above the test's directory", fenceModule)
	return ""
}

// fenceLoad reads every Go file and every testscript below root. It fails where
// it does not find this very file: a walk that sees nothing proves nothing.
func fenceLoad(t *testing.T, root string) (files []*fenceFile, scripts map[string]string) {
	t.Helper()
	scripts = map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return fenceDescend(name, err)
		}
		if !strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, ".txtar") {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || strings.HasSuffix(name, ".txtar") {
			scripts[name] = string(text)
			return err
		}
		if slices.Contains(strings.Split(name, "/"), "testdata") {
			return nil
		}
		file, err := fenceParse(name, text)
		files = append(files, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(files, func(f *fenceFile) bool { return f.name == "integration/fence_test.go" }) {
		t.Fatalf("found %d Go files below %s and not this one", len(files), root)
	}
	return files, scripts
}

// fenceDescend skips what the go command does not build either.
func fenceDescend(name string, err error) error {
	base := path.Base(name)
	hidden := strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
	if err == nil && name != "." && (hidden || base == "vendor" || base == "bin") {
		return fs.SkipDir
	}
	return err
}
