package integration

import (
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
)

// TestEveryAskedCallHasAShape reads the broker's source, so that it holds for
// every architecture: the broker answers ENOSYS to a call that it does not know.
func TestEveryAskedCallHasAShape(t *testing.T) {
	for _, arch := range seccomp.Arches() {
		var asked []string
		for _, r := range seccomp.Table() {
			_, has := seccomp.Number(r.Call, arch)
			if r.Asks() && has {
				asked = append(asked, r.Call)
			}
		}
		slices.Sort(asked)
		known := brokerCalls(t, "shape.go", "shape_"+string(arch)+".go")
		if len(asked) == 0 || !slices.Equal(asked, known) {
			t.Errorf("%s: the filter asks about\n%v\nand the broker knows\n%v", arch, asked, known)
		}
	}
}

// brokerCalls are the calls whose numbers the files name, sorted.
func brokerCalls(t *testing.T, files ...string) []string {
	t.Helper()
	var calls []string
	for _, name := range files {
		path := filepath.Join(fenceRoot(t), "keeper/broker", name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := fenceParse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file.tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if call, is := strings.CutPrefix(s.Sel.Name, "SYS_"); is {
					calls = append(calls, strings.ToLower(call))
				}
			}
			return true
		})
	}
	slices.Sort(calls)
	return calls
}
