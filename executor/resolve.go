package executor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sandbox-exec/sandbox-exec/policy"
)

// maxArgument is the kernel's bound on one argument, its NUL byte included
// (MAX_ARG_STRLEN, include/uapi/linux/binfmts.h).
const maxArgument = 32 * 4096

// shells are where bash is looked for. The caller's PATH is not asked: what it
// leads to would run before anything is known of it.
var shells = []string{"/bin/bash", "/usr/bin/bash"}

// Resolve decides everything that a request leaves open. Nothing has run. The
// error is a *policy.InputError for a value that cannot be taken, and a
// *StartError for a program that cannot be found; the Spec then tells what was
// decided before.
func (e *Executor) Resolve(r Request) (Spec, error) {
	p := e.config.Policy
	if r.Policy != nil {
		p = *r.Policy
	}
	canonical, err := e.canonical(p)
	if err != nil {
		return Spec{}, err
	}
	dir, err := workdir(canonical.Workspace, r.Workdir)
	if err != nil {
		return Spec{}, err
	}
	if err := checkEnv(r.Env); err != nil {
		return Spec{}, err
	}
	if _, err := policy.ParseRequire(string(r.Require)); r.Require != "" && err != nil {
		return Spec{}, err
	}
	if err := checkSpill(r.Spill); err != nil {
		return Spec{}, err
	}
	s := Spec{
		Policy: canonical, Require: r.Require, Dir: dir, Owner: r.Owner, Spill: r.Spill, TaskTimeout: max(r.Timeout, 0),
		Timeout: e.config.timeout(r.Timeout), Grace: orDefault(e.config.Grace, defaultGrace),
		Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr,
		Warnings: e.warnings(p, canonical),
	}
	s.Env, s.Scrubbed = environ(e.config.Environ, e.config.KeepEnv, append([]string{"PWD=" + dir}, r.Env...))
	return s, e.program(r, &s)
}

func (e *Executor) canonical(p policy.Policy) (policy.Policy, error) {
	if p.Workspace == "" {
		p.Workspace = "."
	}
	c, err := p.Canonical()
	if err != nil {
		return c, err
	}
	for _, root := range c.Roots() {
		if policy.Within(root, e.state.dir) || policy.Within(e.state.dir, root) {
			return c, &policy.InputError{What: "writable root", Value: root, Want: "it overlaps the state directory " + e.state.dir + "; use another state directory"}
		}
	}
	return c, e.checkHelper(c)
}

// checkHelper refuses a helper that a command could replace: the next command
// would run without any confinement.
func (e *Executor) checkHelper(p policy.Policy) error {
	if e.config.Helper == "" {
		return nil // this very program, whatever lies at its path by now
	}
	for _, path := range append([]string{e.helper}, e.links...) {
		if root, held := holder(p.Roots(), path); held {
			return &policy.InputError{What: "helper", Value: e.config.Helper, Want: "it lies in the writable root " + root + ", where a command could replace it"}
		}
	}
	return nil
}

// holder is the root that path lies in.
func holder(roots []string, path string) (root string, held bool) {
	i := slices.IndexFunc(roots, func(root string) bool { return policy.Within(root, path) })
	if i < 0 {
		return "", false
	}
	return roots[i], true
}

// warnings are about what a command could change that is executed later, about
// a workspace that is not where it seems, and about a path that may be misspelt.
// Paths are quoted: an earlier command may have made their names.
func (e *Executor) warnings(asked, p policy.Policy) []string {
	var list []string
	home, err := policy.Resolve(lookup(e.config.Environ, "HOME"))
	if _, held := holder(p.Roots(), home); held && err == nil {
		list = append(list, fmt.Sprintf("the home directory %q is writable: the command can change what you execute later, such as shell start-up files", home))
	}
	program, err := os.Executable()
	if root, held := holder(p.Roots(), program); held && err == nil {
		list = append(list, fmt.Sprintf("this program, %q, lies in the writable root %q: a command can replace what the next run starts", program, root))
	}
	_, links, err := policy.Follow(asked.Workspace)
	if err == nil && len(links) > 0 && p.Mode == policy.WorkspaceWrite && ours(links[len(links)-1]) {
		list = append(list, fmt.Sprintf("the workspace %q leads through a symlink to %q", asked.Workspace, p.Workspace))
	}
	for _, path := range p.Unreadable {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			list = append(list, fmt.Sprintf("the unreadable path %q does not exist", path))
		}
	}
	return list
}

func workdir(workspace, asked string) (string, error) {
	if asked == "" {
		return workspace, nil
	}
	path := asked
	if !filepath.IsAbs(path) {
		path = filepath.Join(workspace, path)
	}
	dir, err := policy.Resolve(path)
	if err != nil {
		return "", &policy.InputError{What: "workdir", Value: asked, Want: "expected a directory that exists", Err: err}
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", &policy.InputError{What: "workdir", Value: asked, Want: "expected a directory", Err: err}
	}
	return dir, nil
}

func checkEnv(env []string) error {
	for _, entry := range env {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || name == "" || strings.ContainsRune(entry, 0) {
			return &policy.InputError{What: "environment entry", Value: entry, Want: "expected NAME=VALUE without NUL bytes"}
		}
	}
	return nil
}

func checkSpill(s Spill) error {
	switch s {
	case SpillUnseen, SpillAlways, SpillNever:
		return nil
	}
	return &policy.InputError{What: "spill", Value: string(s), Want: "expected always, never, or nothing for what no writer gets"}
}

// program fills in what is executed.
func (e *Executor) program(r Request, s *Spec) error {
	switch {
	case len(r.Argv) > 0 && r.Command != "":
		return &policy.InputError{What: "command", Value: r.Command, Want: "expected a command or an argument list, not both"}
	case len(r.Argv) > 0:
		s.Command, s.Argv = strings.Join(r.Argv, " "), r.Argv
		if err := checkArguments(r.Argv); err != nil {
			return err
		}
		var err error
		s.Program, err = findProgram(r.Argv[0], lookup(s.Env, "PATH"), s.Dir)
		return err
	case strings.TrimSpace(r.Command) == "":
		return &policy.InputError{What: "command", Value: r.Command, Want: "expected a non-empty string"}
	}
	s.Command, s.Argv = r.Command, []string{"bash", "-c", r.Command}
	s.Program = e.shell
	return checkArguments(s.Argv)
}

func checkArguments(argv []string) error {
	for _, a := range argv {
		if strings.ContainsRune(a, 0) {
			return &policy.InputError{What: "command", Value: a, Want: "it holds a NUL byte, and no program can get one as an argument"}
		}
		if len(a) >= maxArgument {
			return &policy.InputError{What: "command", Value: a[:40] + "…", Want: fmt.Sprintf("an argument of %d bytes is over the kernel's limit of %d", len(a), maxArgument-1)}
		}
	}
	if argv[0] == "" {
		return &policy.InputError{What: "command", Value: "", Want: "expected a non-empty program name"}
	}
	return nil
}

// findShell checks the configured shell, or finds one.
func findShell(configured string) (string, error) {
	candidates := shells
	if configured != "" {
		candidates = []string{configured}
	}
	for _, path := range candidates {
		if filepath.IsAbs(path) && executable(path) == nil {
			return path, nil
		}
	}
	return "", &policy.InputError{What: "shell", Value: strings.Join(candidates, ", "), Want: "expected the absolute path of an executable bash"}
}

// findProgram is execvp's search: the first executable in PATH; what is found
// and cannot be executed is remembered for the errno.
func findProgram(name, path, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, startError(name, executable(name))
	}
	last := error(syscall.ENOENT)
	for _, entry := range filepath.SplitList(path) {
		if !filepath.IsAbs(entry) {
			entry = filepath.Join(dir, entry)
		}
		full := filepath.Join(entry, name)
		err := executable(full)
		if err == nil {
			return full, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			last = err
		}
	}
	return "", startError(name, last)
}

func executable(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return syscall.EACCES
	}
	return nil
}

func startError(program string, err error) error {
	if err == nil {
		return nil
	}
	var errno syscall.Errno
	errors.As(err, &errno)
	return &StartError{Program: program, Errno: errno}
}
