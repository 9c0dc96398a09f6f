package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// metadataObjects are what a tree holds and acts may change.
var metadataObjects = []string{".", "file", "dir", "link", "dirlink", "loop", "away", "awaydir", "chain", "locked", "locked/file", metadataLongName}

var metadataLongName = strings.Repeat("n", 255)

// metadataTree makes what a form names, and no more, for there are thousands of
// trees; what leads away leads to the other one.
func metadataTree(dir, other, form string) error {
	var err error
	do := func(more error) { err = errors.Join(err, more) }
	wants := func(name string) bool {
		return strings.Contains(form, name) || form == "chain" && strings.HasSuffix(name, "link")
	}
	file := func(name string) {
		do(os.WriteFile(filepath.Join(dir, name), []byte("text"), 0o644))
		do(metadataReset(filepath.Join(dir, name), 0o644))
	}
	do(os.MkdirAll(filepath.Join(dir, "dir"), 0o755))
	do(metadataReset(filepath.Join(dir, "dir"), 0o755))
	file("file")
	if wants("name of") {
		file(metadataLongName)
	}
	for name, to := range map[string]string{
		"link": "file", "dirlink": "dir", "loop": "loop", "away": other + "/file", "awaydir": other, "chain": "dirlink/../link", "proc": "/proc/self/fd",
	} {
		if wants(name) {
			do(os.Symlink(to, filepath.Join(dir, name)))
			do(unix.Lutimes(filepath.Join(dir, name), []unix.Timeval{{Sec: metadataThen}, {Sec: metadataThen}}))
		}
	}
	if wants("locked") {
		do(os.Mkdir(filepath.Join(dir, "locked"), 0o755))
		file("locked/file")
		do(os.Chmod(filepath.Join(dir, "locked"), 0))
	}
	do(os.Chtimes(dir, time.Unix(metadataThen, 0), time.Unix(metadataThen, 0)))
	return err
}

const metadataThen = 1_000_000_000

// metadataReset gives a file what the calls change.
func metadataReset(path string, mode os.FileMode) error {
	return errors.Join(
		os.Chmod(path, mode),
		unix.Setxattr(path, "user.old", []byte("old"), 0),
		os.Chtimes(path, time.Unix(metadataThen, 0), time.Unix(metadataThen, 0)),
	)
}

// metadataUnlock lets an ordinary user remove a tree; what cannot be unlocked
// shows then.
func metadataUnlock(dir string) {
	for _, name := range []string{"", "dir", "locked"} {
		_ = os.Chmod(filepath.Join(dir, name), 0o700)
	}
}

// metadataState is what one can see of a file, and when any of it was changed
// last: nobody can set that.
type metadataState struct {
	Text    string
	Changed unix.Timespec
}

type metadataStates map[string]metadataState

func metadataLook(dir string) metadataStates {
	states := metadataStates{}
	for _, name := range metadataObjects {
		states[name] = metadataLookAt(filepath.Join(dir, name))
	}
	return states
}

func metadataLookAt(path string) metadataState {
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return metadataState{Text: err.Error()}
	}
	text := metadataText(stat)
	if stat.Mode&unix.S_IFMT != unix.S_IFLNK {
		text += " read at " + metadataTime(stat.Atim) // links are read by those that follow them
	}
	return metadataState{Text: text + attributesOf(path, unix.Llistxattr), Changed: stat.Ctim}
}

// metadataOpened is the same for an open file that has no name.
func metadataOpened(fd int) string {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err.Error()
	}
	if stat.Mode&unix.S_IFMT == unix.S_IFSOCK {
		return fmt.Sprintf("%o %d:%d", stat.Mode, stat.Uid, stat.Gid) // a new one has the times of an old one
	}
	return metadataText(stat) + " read at " + metadataTime(stat.Atim) +
		attributesOf("", func(_ string, to []byte) (int, error) { return unix.Flistxattr(fd, to) })
}

func metadataText(stat unix.Stat_t) string {
	return fmt.Sprintf("%o %d:%d at %s", stat.Mode, stat.Uid, stat.Gid, metadataTime(stat.Mtim))
}

// metadataTime tells the present from any time that a test sets.
func metadataTime(t unix.Timespec) string {
	if time.Since(time.Unix(t.Unix())).Abs() < time.Hour {
		return "now"
	}
	return fmt.Sprintf("%d.%09d", t.Sec, t.Nsec)
}

func attributesOf(path string, list func(path string, to []byte) (int, error)) string {
	names := make([]byte, 4096)
	n, _ := list(path, names) // what has no attributes has none
	all := strings.Split(strings.TrimRight(string(names[:max(n, 0)]), "\x00"), "\x00")
	all = slices.DeleteFunc(all, func(name string) bool { return !strings.HasPrefix(name, "user.") })
	slices.Sort(all)
	var text strings.Builder
	for _, name := range all {
		value := make([]byte, 16)
		n, _ := unix.Lgetxattr(path, name, value)
		fmt.Fprintf(&text, " %s=%s", name, value[:max(n, 0)])
	}
	return text.String()
}

// texts are the states without the times of change.
func (s metadataStates) texts() map[string]string {
	texts := map[string]string{}
	for name, state := range s {
		texts[name] = state.Text
	}
	return texts
}

// changed are the names of what was changed since.
func (s metadataStates) changed(after metadataStates) (names []string) {
	for name, state := range s {
		if state.Changed != after[name].Changed {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
