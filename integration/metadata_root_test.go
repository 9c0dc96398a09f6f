package integration

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// nobodys is a directory that everybody can pass through, with a file of root's
// and one of victimNobody's in it.
func nobodys(t *testing.T) (dir, ours, theirs string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "metadata")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ours, theirs = filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
	write(t, ours, "")
	write(t, theirs, "")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Chown(theirs, victimNobody, victimNobody)); err != nil {
		t.Fatal(err)
	}
	return dir, ours, theirs
}

// dropping is a way to become another user, and to change the mode of a file as
// that one.
type dropping struct {
	name    string
	needs   []kerneltest.Feature
	command func(t *testing.T, path string) string
	// refused is the errno for a file of root's, as the program says it.
	refused string
}

func droppings() []dropping {
	program := func(names ...string) (list []kerneltest.Feature) {
		for _, name := range names {
			list = append(list, kerneltest.Program(name))
		}
		return list
	}
	const words = "Operation not permitted"
	drop := func(how string) func(t *testing.T, path string) string {
		return func(t *testing.T, path string) string {
			return reachable(t) + " as-victim do drop-chmod " + how + " " + path
		}
	}
	user := strconv.Itoa(victimNobody)
	return []dropping{
		{"setpriv", program("setpriv", "chmod"), func(_ *testing.T, path string) string {
			return "setpriv --reuid=" + user + " --regid=" + user + " --clear-groups chmod 600 " + path
		}, words},
		{"python, without exec", program("/usr/bin/python3"), func(_ *testing.T, path string) string {
			return fmt.Sprintf("/usr/bin/python3 -c 'import os; os.setgroups([]); os.setgid(%s); os.setuid(%s); os.chmod(\"%s\", 0o600)'", user, user, path)
		}, words},
		{"setuid without exec", nil, drop("setuid"), "EPERM"},
		{"one thread", nil, drop("thread"), "EPERM"},
		{"file user alone", nil, drop("setfsuid"), "EPERM"},
	}
}

// reachable is this binary where any user can execute it.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "reachable")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "self")
	body, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.Chmod(dir, 0o755), os.WriteFile(path, body, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A command of root's that becomes another user has that user's rights and no
// more: such a process is not dumpable, and the broker must look into it all the
// same.
func TestMetadataOfDroppedPrivileges(t *testing.T) {
	needs(t, kerneltest.Root)
	for _, d := range droppings() {
		t.Run(d.name, func(t *testing.T) {
			kerneltest.Require(t, d.needs...)
			for _, where := range eitherWay {
				d.try(t, where)
			}
		})
	}
}

func (d dropping) try(t *testing.T, where confinement) {
	t.Helper()
	dir, ours, theirs := nobodys(t)
	for path, works := range map[string]bool{theirs: true, ours: false} {
		text, denials := said(t, dir, d.command(t, path)+" 2>&1", where)
		if len(denials) > 0 {
			t.Errorf("%s: %s: denials %+v", where, path, denials)
		}
		if changed := strings.HasPrefix(metadataLookAt(path).Text, "100600"); changed != works || strings.Contains(text, d.refused) == works {
			t.Errorf("%s: %s: %s and %q, want that it works: %t", where, filepath.Base(path), metadataLookAt(path).Text, text, works)
		}
	}
	if where == unconfined {
		return
	}
	// Outside nothing works, whoever one is.
	_, _, theirs = nobodys(t)
	_, denials := said(t, dir, d.command(t, theirs), where)
	if !slices.Contains(denials, refusedAt(fact.OpChmod, theirs)) || len(denials) != 1 || strings.HasPrefix(metadataLookAt(theirs).Text, "100600") {
		t.Errorf("outside: %s, denials %+v", metadataLookAt(theirs).Text, denials)
	}
}

// said is what a command prints, whatever comes of it.
func said(t *testing.T, dir, command string, where confinement) (string, []fact.Denial) {
	t.Helper()
	if where == unconfined {
		text, _ := bash(t, dir, command)
		return text, nil
	}
	r := shell(t, in(policy.WorkspaceWrite, dir), command)
	return stdout(r), r.Denials
}

// Root's rights are its capabilities: where a command gave them up the broker
// has none either.
func TestMetadataWithoutCapabilities(t *testing.T) {
	needs(t, kerneltest.Root)
	for _, call := range []string{"chown", "chmod", "utimensat"} {
		for _, where := range eitherWay {
			dir, _, theirs := nobodys(t)
			before := metadataLookAt(theirs)
			text, denials := said(t, dir, selfPath(t)+" as-victim do without-capabilities "+call+" "+theirs, where)
			if text != "EPERM\n" || metadataLookAt(theirs) != before || len(denials) > 0 {
				t.Errorf("%s, %s: got %q, %s, denials %+v", call, where, text, metadataLookAt(theirs).Text, denials)
			}
		}
	}
}

// victimWithoutCapabilities gives all of them up and has another effect: EFFECT
// ARGUMENT...
func victimWithoutCapabilities(args []string) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %s", err)
	}
	effects := map[string]func([]string) error{"chmod": victimChmod, "chown": victimGiveToRoot, "utimensat": victimUtimensat}
	return effects[args[0]](args[1:])
}

// confinement is where a command runs.
type confinement string

const (
	unconfined confinement = "without the sandbox"
	confined   confinement = "in workspace-write"
)

var eitherWay = []confinement{unconfined, confined}

// mustFail returns what a command says that fails, and that nothing is reported.
func mustFail(t *testing.T, dir, command string, where confinement) string {
	t.Helper()
	text, denials := said(t, dir, "("+command+") 2>&1; echo status $?", where)
	if strings.HasSuffix(text, "status 0\n") || len(denials) > 0 {
		t.Errorf("%s, %s: denials %+v: %s", where, command, denials, text)
	}
	return text
}

// A user may give a file to a group of their own, and to no other.
func TestMetadataSupplementaryGroup(t *testing.T) {
	needs(t, kerneltest.Root, kerneltest.Program("setpriv"), kerneltest.Program("chgrp"))
	const group = 45678
	become := fmt.Sprintf("setpriv --reuid=%d --regid=%d --groups=%d ", victimNobody, victimNobody, group)
	for _, where := range eitherWay {
		dir, _, theirs := nobodys(t)
		text := mustFail(t, dir, become+fmt.Sprintf("bash -c 'chgrp %d %s && chgrp 45679 %s'", group, theirs, theirs), where)
		if !strings.Contains(metadataLookAt(theirs).Text, fmt.Sprintf(" %d:%d ", victimNobody, group)) || !strings.Contains(text, "not permitted") {
			t.Errorf("%s: %s: %s", where, metadataLookAt(theirs).Text, text)
		}
	}
}

// TestMetadataOwnGroups is the same for the user who runs the tests.
func TestMetadataOwnGroups(t *testing.T) {
	needs(t, kerneltest.OrdinaryUser)
	groups, err := os.Getgroups()
	if err != nil {
		t.Fatal(err)
	}
	e := newExecutor(t, executor.Config{})
	for _, group := range append(groups, os.Getgid()) {
		work := realTempDir(t)
		write(t, filepath.Join(work, "file"), "")
		succeeded(t, run(t, e, executor.Request{Policy: in(policy.WorkspaceWrite, work), Command: fmt.Sprintf("chgrp %d file", group)}))
		if !strings.Contains(metadataLookAt(filepath.Join(work, "file")).Text, fmt.Sprintf(":%d ", group)) {
			t.Errorf("group %d: %s", group, metadataLookAt(filepath.Join(work, "file")).Text)
		}
	}
}

func victimGiveToRoot(args []string) error { return unix.Lchown(args[0], 0, 0) }

// victimDrop becomes another user in this very process and changes a mode: HOW
// PATH.
func victimDrop(args []string) error {
	var errno unix.Errno
	call := func(number uintptr, args ...uintptr) {
		args = append(args, 0, 0, 0)
		if _, _, e := unix.RawSyscall(number, args[0], args[1], args[2]); e != 0 && errno == 0 {
			errno = e
		}
	}
	const id = victimNobody
	switch args[0] {
	case "thread": // of this thread alone
		call(unix.SYS_SETGROUPS)
		call(unix.SYS_SETRESGID, id, id, id)
		call(unix.SYS_SETRESUID, id, id, id)
	case "setfsuid":
		call(unix.SYS_SETFSGID, id)
		call(unix.SYS_SETFSUID, id)
	default:
		if err := errors.Join(unix.Setgroups(nil), unix.Setresgid(id, id, id), unix.Setresuid(id, id, id)); err != nil {
			return fmt.Errorf("become another user: %s", err)
		}
	}
	if errno != 0 {
		return fmt.Errorf("become another user: %s", errno)
	}
	return unix.Chmod(args[1], 0o600)
}

// TestSu: su opens a session through PAM, which wants more of the kernel than a
// change of user does.
func TestSu(t *testing.T) {
	needs(t, kerneltest.Root, kerneltest.Program("su"))
	nobody, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err := strconv.Atoi(nobody.Uid)
	if err != nil {
		t.Fatal(err)
	}
	dir, ours, theirs := nobodys(t)
	command := fmt.Sprintf("su nobody -s /bin/bash -c 'id -u; chmod 600 %s; chmod 600 %s'", theirs, ours)
	for _, sandboxed := range []bool{false, true} {
		if err := errors.Join(os.Chown(theirs, uid, -1), os.Chmod(theirs, 0o644)); err != nil {
			t.Fatal(err)
		}
		var out string
		if sandboxed {
			r := run(t, newExecutor(t, executor.Config{}), executor.Request{Policy: in(policy.WorkspaceWrite, dir), Command: command})
			out = stdout(r) + stderr(r)
		} else {
			out, _ = bash(t, dir, command)
		}
		if modeOf(t, theirs) != 0o600 || modeOf(t, ours) != 0o644 || !strings.HasPrefix(out, nobody.Uid+"\n") {
			t.Errorf("sandboxed %t: modes %o and %o: %s", sandboxed, modeOf(t, theirs), modeOf(t, ours), out)
		}
	}
}
