package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/keeper"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// limitedRun is what the program "as-limited" is told to run with the library.
type limitedRun struct {
	StateDir, Workspace, CgroupParent string
	OwnTree                           bool
	Command                           string
	Limits                            policy.Limits
	Timeout, Grace                    time.Duration
	Times                             int // zero is once; the last one is told of
}

// limitedEnd is what came of it.
type limitedEnd struct {
	Exit     fact.Exit
	Limits   []fact.Limit
	Usage    fact.Usage
	Denials  []fact.Denial
	Denied   bool
	Leftover int
	Stdout   string
	Stderr   string
	Warnings []string
	Rows     map[policy.Promise]fact.Row
	// Error and the rest are of a command that did not run.
	Error, Stage, Errno, Hint string
}

// limited is the program that runs one limitedRun, so that a test can have it
// done by another user, in another group, or killed.
func limited(args []string) int {
	var r limitedRun
	if err := json.Unmarshal([]byte(args[0]), &r); err != nil {
		return 2
	}
	if err := json.NewEncoder(os.Stdout).Encode(r.run()); err != nil {
		return 1
	}
	return 0
}

func (r limitedRun) run() limitedEnd {
	result, err := r.execute()
	end := limitedEnd{
		Exit: result.Exit, Limits: result.Limits, Usage: result.Usage, Denials: result.Denials, Denied: result.Denied, Leftover: result.Leftover,
		Stdout: string(result.Stdout.Tail), Stderr: string(result.Stderr.Tail), Warnings: result.Warnings, Rows: map[policy.Promise]fact.Row{},
	}
	for _, row := range result.Report.Rows {
		end.Rows[row.Promise] = row
	}
	if err != nil {
		end.Error = err.Error()
	}
	var unavailable *executor.UnavailableError
	if errors.As(err, &unavailable) {
		end.Stage, end.Errno, end.Hint = unavailable.Stage, executor.ErrnoName(unavailable.Errno), unavailable.Hint
	}
	return end
}

func (r limitedRun) execute() (result executor.Result, err error) {
	e, err := executor.New(executor.Config{
		StateDir: r.StateDir, CgroupParent: r.CgroupParent, OwnTree: r.OwnTree, Grace: r.Grace, Environ: os.Environ(),
	})
	if err != nil {
		return result, err
	}
	defer e.Close()
	p := &policy.Policy{Mode: policy.WorkspaceWrite, Workspace: r.Workspace, Limits: r.Limits}
	spec, err := e.Resolve(executor.Request{Policy: p, Command: r.Command, Timeout: r.Timeout})
	for range max(1, r.Times) {
		if err == nil {
			result, err = e.Run(context.Background(), spec)
		}
	}
	return result, err
}

// world is who runs a limitedRun and where it finds its control groups.
type world struct {
	name string
	uid  int
	// handed are the controllers of a subtree that root hands over; none is our own
	// groups. Of them each is a hierarchy of version 1, and unified version 2.
	handed []string
	// version is of the control groups: "v1" or "v2".
	version string
	// named hands the subtree over by name; else the program is put into it.
	named bool
}

// worlds are the places where every limit must hold. In each of them the ladder
// behind a kill ends on another rung.
func worlds(t *testing.T) []world {
	t.Helper()
	version, err := kerneltest.GroupVersion()
	if err != nil {
		t.Fatal(err)
	}
	own := world{name: "root", uid: os.Getuid(), version: version}
	switch {
	case own.uid != 0:
		own.name = "user, in groups that were handed over before"
		return []world{own}
	case version == "v2":
		return []world{
			own,
			{name: "user, from inside", uid: 1000, handed: []string{""}},
			{name: "user, by name, from inside", uid: 1000, handed: []string{""}, named: true},
		}
	}
	return []world{
		own,
		{name: "user, by name", uid: 1000, handed: []string{"memory", "pids", "cpu"}, named: true},
		{name: "user, from inside, with a freezer", uid: 1000, handed: []string{"memory", "pids", "cpu", "freezer", "cpuacct"}},
		{name: "user, from inside, hybrid", uid: 1000, handed: []string{"memory", "pids", "cpu", "unified"}},
	}
}

// inWorlds runs a test in each world.
func inWorlds(t *testing.T, test func(t *testing.T, w *placed)) {
	needs(t, kerneltest.Cgroups)
	version := ""
	for _, w := range worlds(t) {
		if w.version == "" {
			w.version = version
		}
		version = w.version
		t.Run(w.name, func(t *testing.T) { test(t, w.place(t)) })
	}
}

// placed is a world that is there: directories that its user may write, and
// groups that are removed at the test's end.
type placed struct {
	world
	dir, state, workspace string
	groups                []string
	// pids are the programs that were started in our own groups, where those of
	// other tests come and go.
	pids []uint64
}

func (w world) place(t *testing.T) *placed {
	t.Helper()
	p := &placed{world: w, dir: realTempDir(t)}
	p.state, p.workspace = filepath.Join(p.dir, "state"), filepath.Join(p.dir, "work")
	for _, dir := range []string{p.state, p.workspace} {
		if err := errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, w.uid, w.uid)); err != nil {
			t.Fatal(err)
		}
	}
	for dir := p.dir; dir != "/tmp" && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o711); err != nil {
			t.Fatal(err)
		}
	}
	for _, controller := range w.handed {
		p.groups = append(p.groups, handOver(t, controller, w.uid))
	}
	t.Cleanup(func() {
		if left := p.left(t); len(left) > 0 {
			t.Errorf("these control groups are left: %s", left)
		}
	})
	return p
}

// handOver makes a group below the root of a hierarchy and gives it to a user.
func handOver(t *testing.T, controller string, uid int) string {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup", controller, "integration-"+strconv.Itoa(os.Getpid()))
	checkGroups(t, filepath.Dir(dir))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { emptyGroup(t, dir) })
	if controller == "" {
		passOn(t, dir)
	}
	for _, name := range []string{"", "cgroup.procs", "tasks", "cgroup.subtree_control", leafGroup, leafGroup + "/cgroup.procs"} {
		if err := os.Chown(filepath.Join(dir, name), uid, uid); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return dir
}

// leafGroup is where a process waits inside a subtree of version 2.
const leafGroup = "leaf"

// passOn makes a new group of version 2 into a subtree.
func passOn(t *testing.T, dir string) {
	t.Helper()
	err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+memory +pids +cpu"), 0)
	if err := errors.Join(err, os.Mkdir(filepath.Join(dir, leafGroup), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// checkGroups fails where a directory is of no control group file system.
func checkGroups(t *testing.T, dir string) {
	t.Helper()
	var fs unix.Statfs_t
	err := unix.Statfs(dir, &fs)
	if err != nil || fs.Type != unix.CGROUP_SUPER_MAGIC && fs.Type != unix.CGROUP2_SUPER_MAGIC {
		t.Fatalf("%s: magic %#x, %v", dir, fs.Type, err)
	}
}

// emptyGroup kills what a failed test left in a group of ours, and removes it.
func emptyGroup(t *testing.T, dir string) {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_ = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
			if err == nil && entry.Name() == "cgroup.procs" {
				for _, pid := range strings.Fields(readQuiet(name)) {
					if n, err := strconv.Atoi(pid); err == nil {
						_ = syscall.Kill(n, syscall.SIGKILL)
					}
				}
			}
			return nil
		})
		subs, _ := filepath.Glob(filepath.Join(dir, "sandbox-exec-*"))
		for _, sub := range append(subs, filepath.Join(dir, leafGroup)) {
			_ = unix.Rmdir(sub)
		}
		if err := unix.Rmdir(dir); err == nil || os.IsNotExist(err) {
			return
		} else if time.Now().After(end) {
			t.Errorf("remove %s: %v", dir, err)
			return
		}
	}
}

func readQuiet(name string) string {
	text, _ := os.ReadFile(name)
	return string(text)
}

// left lists the groups that there are of the programs of this world.
func (p *placed) left(t *testing.T) []string {
	t.Helper()
	parents := p.groups
	if len(parents) == 0 {
		parents = ownGroups(t)
	}
	var left []string
	for _, parent := range parents {
		found, err := filepath.Glob(filepath.Join(parent, groupPrefix+"*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range found {
			name, valid := keeper.ParseName(strings.TrimPrefix(filepath.Base(dir), groupPrefix))
			if valid && (len(p.groups) > 0 || slices.Contains(p.pids, name.PID)) {
				left = append(left, dir)
			}
		}
	}
	return left
}

const groupPrefix = "sandbox-exec-"

// ownGroups are where root's groups are made on a machine with version 1.
func ownGroups(t *testing.T) []string {
	t.Helper()
	if own, err := kerneltest.OwnUnified(); err == nil {
		return []string{filepath.Dir(own)}
	}
	list := []string{"/sys/fs/cgroup/unified"}
	for _, controller := range []string{"memory", "pids", "cpu", "freezer", "cpuacct"} {
		own, err := kerneltest.OwnGroup(controller)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, own)
	}
	return list
}

// command is the program that runs r in this world.
func (p *placed) command(t *testing.T, r limitedRun) *exec.Cmd {
	t.Helper()
	r.StateDir, r.Workspace = p.state, p.workspace
	if p.named {
		r.CgroupParent = p.groups[0]
	}
	body, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	argv := []string{"/proc/self/exe", "as-limited", string(body)}
	inside := p.groups
	if p.version == "v2" && len(p.groups) > 0 {
		inside = []string{filepath.Join(p.groups[0], leafGroup)}
	}
	enters := p.handed != nil && (!p.named || p.version == "v2")
	if enters {
		argv = append([]string{"/proc/self/exe", "as-entrant", strings.Join(inside, ","), strconv.Itoa(p.uid)}, argv[1:]...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience) // hundreds of runs, perhaps beside other tests
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = 2 * time.Second
	cmd.Dir = p.workspace
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + p.workspace, "LANG=C.UTF-8"}
	for _, name := range []string{"XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"} { // where a user's systemd is
		if p.uid == os.Getuid() {
			cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if p.uid != 0 && p.named && !enters {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(p.uid), Gid: uint32(p.uid)}
	}
	return cmd
}

// entrant is the program "as-entrant GROUPS UID PROGRAM ARGUMENT": it goes into
// the groups as root, and runs the program there as that user.
func entrant(args []string) int {
	for group := range strings.SplitSeq(args[0], ",") {
		if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0); err != nil {
			panic(err)
		}
	}
	uid, err := strconv.Atoi(args[1])
	if err != nil {
		panic(err)
	}
	cmd := exec.Command("/proc/self/exe", args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		panic(err)
	}
	return 0
}

// run runs r in this world and returns what came of it.
func (p *placed) run(t *testing.T, r limitedRun) limitedEnd {
	t.Helper()
	cmd := p.command(t, r)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	p.pids = append(p.pids, uint64(cmd.Process.Pid))
	var end limitedEnd
	if err = errors.Join(err, json.Unmarshal(out, &end)); err != nil {
		t.Fatalf("%v\n%s%s", err, out, &stderr)
	}
	if len(end.Warnings) > 0 {
		t.Errorf("warnings: %q", end.Warnings)
	}
	return end
}

// ran is run for what must run.
func (p *placed) ran(t *testing.T, r limitedRun) limitedEnd {
	t.Helper()
	end := p.run(t, r)
	if end.Error != "" {
		t.Fatalf("%q did not run: %s", r.Command, end.Error)
	}
	return end
}
