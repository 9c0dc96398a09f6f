package integration

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const fenceLongest = 80 // lines of one function

// fenceRules each look at one file and report what they find in it.
var fenceRules = []func(*fenceFile){
	fenceOurImports,
	fencePrivilegedImports,
	fenceSyscall,
	fenceAmbient,
	fenceInit,
	fenceCalls,
	fenceLength,
}

type fenceImport struct {
	at         token.Pos
	pkg, local string // its path, and its name in the file
}

func (f *fenceFile) imports() (list []fenceImport) {
	for _, spec := range f.tree.Imports {
		pkg, _ := strconv.Unquote(spec.Path.Value)
		local := path.Base(pkg)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		list = append(list, fenceImport{spec.Pos(), pkg, local})
	}
	return list
}

// uses yields the selectors of the package, as in pkg.Name. A dot import hides
// them and is itself reported.
func (f *fenceFile) uses(pkg string, yield func(at token.Pos, name string)) {
	for _, i := range f.imports() {
		if i.pkg != pkg {
			continue
		}
		if i.local == "." {
			f.report(i.at, "dot import of %s", pkg)
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok && fenceIsIdent(selector.X, i.local) {
				yield(selector.Pos(), selector.Sel.Name)
			}
			return true
		})
	}
}

func fenceIsIdent(x ast.Expr, name string) bool {
	ident, ok := x.(*ast.Ident)
	return ok && ident.Name == name
}

// inTestCode tells the files that only tests run.
func (f *fenceFile) inTestCode() bool {
	return f.isTest() || fenceBelow(f.name, "internal/kerneltest")
}

func fenceBelow(name, dir string) bool {
	return strings.HasPrefix(name, dir+"/")
}

func fenceOurImports(f *fenceFile) {
	allowed, listed := fenceImports[f.dir()]
	if !listed && f.dir() != "integration" {
		f.report(f.tree.Pos(), "package %s is not in the table of the fence", f.dir())
	}
	if f.isTest() {
		allowed = append(slices.Clone(allowed), f.dir(), "internal/kerneltest")
	}
	// Whoever can run a command must be able to call confine.RunHelper first.
	if f.isTest() && slices.Contains(allowed, "executor") {
		allowed = append(allowed, "confine")
	}
	for _, i := range f.imports() {
		ours, found := strings.CutPrefix(i.pkg, fenceModule)
		ours = strings.TrimPrefix(ours, "/")
		switch {
		case !found:
		case ours == "integration" || fenceBelow(ours, "cmd"):
			f.report(i.at, "nobody imports %s", ours)
		case f.dir() != "integration" && !slices.Contains(allowed, ours):
			f.report(i.at, "%s may not import %s", f.dir(), ours)
		}
	}
}

// mayTouchKernel tells the files that may start processes and make any call.
func (f *fenceFile) mayTouchKernel() bool {
	return f.inTestCode() || fenceBelow(f.name, "internal/reportfile") || fenceBelow(f.name, "internal/nofollow") || fenceBelow(f.name, "confine") || fenceBelow(f.name, "keeper") ||
		f.dir() == "executor" && strings.HasSuffix(f.name, "_linux.go")
}

func fencePrivilegedImports(f *fenceFile) {
	if f.mayTouchKernel() {
		return
	}
	for _, i := range f.imports() {
		if i.pkg == "os/exec" || i.pkg == "golang.org/x/sys/unix" {
			f.report(i.at, "%s may not be imported here", i.pkg)
		}
	}
}

var (
	fenceErrnoOrSignal = regexp.MustCompile(`^(Errno|Signal|SIG[A-Z0-9]+|E[A-Z0-9]+)$`)
	fenceNotAnErrno    = regexp.MustCompile(`^(SIGEV|EPOLL)`)
)

func fenceSyscall(f *fenceFile) {
	if f.mayTouchKernel() {
		return
	}
	f.uses("syscall", func(at token.Pos, name string) {
		if !fenceErrnoOrSignal.MatchString(name) || fenceNotAnErrno.MatchString(name) {
			f.report(at, "syscall.%s: only Errno, Signal and their constants may be used here", name)
		}
	})
}

// fenceAmbient keeps libraries from reading the environment and writing to the
// process's own output.
func fenceAmbient(f *fenceFile) {
	if f.inTestCode() || fenceBelow(f.name, "cmd") {
		return
	}
	for _, i := range f.imports() {
		if i.pkg == "log" {
			f.report(i.at, "log outside cmd")
		}
	}
	forbid := func(pkg string, names ...string) {
		f.uses(pkg, func(at token.Pos, name string) {
			if slices.Contains(names, name) {
				f.report(at, "%s.%s outside cmd", pkg, name)
			}
		})
	}
	forbid("os", "Getenv", "LookupEnv", "Environ", "ExpandEnv")
	forbid("fmt", "Print", "Println", "Printf")
}

// fenceInit holds in cmd too: the helper is the same binary, and init would run
// in it before anything is confined.
func fenceInit(f *fenceFile) {
	for _, decl := range f.tree.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if ok && fn.Recv == nil && fn.Name.Name == "init" && !f.inTestCode() {
			f.report(fn.Pos(), "func init")
		}
	}
}

// fenceCalls finds calls by name, whatever they belong to: BestEffort returns
// nil where nothing is confined, and a skip hides a missing feature.
func fenceCalls(f *fenceFile) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, isMethod := call.Fun.(*ast.SelectorExpr)
		name := ""
		if isMethod {
			name = selector.Sel.Name
		} else if ident, ok := call.Fun.(*ast.Ident); ok {
			name = ident.Name
		}
		skips := isMethod && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, name)
		switch {
		case name == "BestEffort":
			f.report(call.Pos(), "BestEffort leaves a command unconfined without an error")
		case skips && f.dir() != "internal/kerneltest":
			f.report(call.Pos(), "%s: use kerneltest.Require", name)
		}
		return true
	})
}

func fenceLength(f *fenceFile) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			lines := f.set.Position(n.End()).Line - f.set.Position(n.Pos()).Line + 1
			if lines > fenceLongest {
				f.report(n.Pos(), "function of %d lines, want at most %d", lines, fenceLongest)
			}
		}
		return true
	})
}

// fencePackageComments reports each directory without a package comment. One in
// a test file counts only where there is nothing but tests.
func fencePackageComments(files []*fenceFile) (findings []string) {
	product, commented := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		product[f.dir()] = product[f.dir()] || !f.isTest()
	}
	for _, f := range files {
		counts := !f.isTest() || !product[f.dir()]
		commented[f.dir()] = commented[f.dir()] || counts && strings.TrimSpace(f.tree.Doc.Text()) != ""
	}
	for dir, has := range commented {
		if !has {
			findings = append(findings, fmt.Sprintf("%s: no package comment", dir))
		}
	}
	slices.Sort(findings)
	return findings
}

var fenceScriptSkip = regexp.MustCompile(`^\s*(\[[^\]]*\]\s*)*skip\b`)

// fenceScript finds the skip command in the script part of a testscript, which
// ends at its first embedded file.
func fenceScript(name, text string) (findings []string) {
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(line, "-- ") && strings.HasSuffix(line, " --") {
			break
		}
		if fenceScriptSkip.MatchString(line) {
			findings = append(findings, fmt.Sprintf("%s:%d: skip: use kerneltest.Require before the script", name, i+1))
		}
	}
	return findings
}
