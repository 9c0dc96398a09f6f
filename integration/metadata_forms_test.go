package integration

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// metadataForm is one way to name a file. What it names lies in a metadataTree.
type metadataForm struct {
	name string
	on   metadataShape
	// away says that it leads from the tree into the other one.
	away bool
	set  func(a *metadataActor)
}

// metadataShape is what a call must take for a form.
type metadataShape int

const (
	byPath     metadataShape = iota
	byFollowed               // not for the calls that act on a link
	byDirectory
	byFlags
	byDescriptor
)

func (c metadataCall) takes(s metadataShape) bool {
	switch s {
	case byPath:
		return c.path != metadataNone
	case byFollowed:
		return c.path != metadataNone && c.name[0] != 'l'
	case byDirectory:
		return c.path != metadataNone && c.fd != metadataNone
	case byFlags:
		return c.flags != metadataNone
	}
	return c.path == metadataNone
}

func metadataForms() []metadataForm {
	var all []metadataForm
	add := func(on metadataShape, name string, set func(a *metadataActor)) {
		all = append(all, metadataForm{name, on, strings.Contains(name, "away"), set})
	}
	plainForms(add)
	memoryForms(add)
	procForms(add)
	threadForms(add)
	directoryForms(add)
	flagForms(add)
	descriptorForms(add)
	return all
}

type addForm func(on metadataShape, name string, set func(a *metadataActor))

func plainForms(add addForm) {
	for _, path := range []string{
		"file", "dir", "dir/", "dir/.", "dir/..", "dir/../file", "./file", "//file", "file/", "file/.", "file/..", "missing", "missing/x", "file/x",
		"link", "link/", "dirlink", "dirlink/", "dirlink/../file", "loop", "loop/x", "away", "away/", "awaydir/file", "awaydir/dir/../file",
		"locked/file", "chain",
	} {
		add(byPath, path, func(a *metadataActor) { a.at(a.tree + "/" + path) })
	}
	for _, path := range []string{"file", "dir/../file", "link", "away", "missing"} {
		add(byPath, "relative "+path, func(a *metadataActor) { a.chdir(a.tree); a.at(path) })
	}
	add(byPath, "relative from below", func(a *metadataActor) { a.chdir(a.tree + "/dir"); a.at("../file") })
	add(byPath, "the directory itself", func(a *metadataActor) { a.chdir(a.tree + "/dir"); a.at(".") })
	add(byPath, "relative after the directory is gone", func(a *metadataActor) { a.chdir(a.gone()); a.at("file") })
	add(byPath, "a directory that is gone", func(a *metadataActor) { a.chdir(a.gone()); a.at(".") })
	add(byPath, "empty", func(a *metadataActor) { a.at("") })
	add(byPath, "name of 255 bytes", func(a *metadataActor) { a.at(a.tree + "/" + metadataLongName) })
	add(byPath, "name of 256 bytes", func(a *metadataActor) { a.at(a.tree + "/n" + metadataLongName) })
	add(byPath, "4095 bytes", func(a *metadataActor) { a.at(padded(a.tree, "file", 4095)) })
	add(byPath, "4096 bytes", func(a *metadataActor) { a.at(padded(a.tree, "file", 4096)) })
}

// padded is a path of that many bytes.
func padded(dir, name string, size int) string {
	return dir + strings.Repeat("/", size-len(dir)-len(name)) + name
}

func memoryForms(add addForm) {
	add(byPath, "no path", func(a *metadataActor) { a.path = 0 })
	add(byPath, "bad pointer", func(a *metadataActor) { a.path = metadataBad })
	add(byPath, "kernel pointer", func(a *metadataActor) { a.path = 0xffff_8000_0000_0000 })
	add(byPath, "unterminated", func(a *metadataActor) { a.path = a.last(a.tree + "/file") })
	add(byPath, "unterminated and too long", func(a *metadataActor) { a.path = a.last(strings.Repeat("/", 2*unix.PathMax)) })
	add(byPath, "up to the end of memory", func(a *metadataActor) { a.path = a.last(a.tree + "/file\x00") })
}

func procForms(add addForm) {
	file := func(a *metadataActor) int { return a.open(a.tree+"/file", unix.O_RDONLY) }
	for _, dir := range []string{"/proc/self/fd", "/dev/fd", "/proc/thread-self/fd", "/proc/self/../self/fd", "/proc/self/fd/../fd", "/proc/self/task/TID/fd", "/proc/PID/fd", "/proc/self/root/proc/self/fd"} {
		path := func(a *metadataActor) string { return a.numbered(dir) }
		add(byPath, dir+"/N", func(a *metadataActor) { a.at(fmt.Sprintf("%s/%d", path(a), file(a))) })
		add(byPath, dir+"/N of a place", func(a *metadataActor) {
			a.at(fmt.Sprintf("%s/%d", path(a), a.open(a.tree+"/file", unix.O_PATH)))
		})
		add(byPath, dir+"/N/file", func(a *metadataActor) { a.at(fmt.Sprintf("%s/%d/file", path(a), a.open(a.tree, unix.O_PATH))) })
	}
	for name, open := range metadataAnonymous() {
		add(byPath, "/proc/self/fd/N of "+name, func(a *metadataActor) { a.at(fmt.Sprintf("/proc/self/fd/%d", a.see(open(a)))) })
	}
	add(byPath, "/proc/self/fd/N of a link", func(a *metadataActor) {
		a.at(fmt.Sprintf("/proc/self/fd/%d", a.open(a.tree+"/link", unix.O_PATH|unix.O_NOFOLLOW)))
	})
	add(byPath, "/proc/self/fd/N, closed", func(a *metadataActor) { a.at("/proc/self/fd/987") })
	add(byPath, "/proc/self/fd/N/", func(a *metadataActor) { a.at(fmt.Sprintf("/proc/self/fd/%d/", file(a))) })
	add(byPath, "/proc/self/cwd", func(a *metadataActor) { a.chdir(a.tree); a.at("/proc/self/cwd/file") })
	add(byPath, "/proc/self/root", func(a *metadataActor) { a.at("/proc/self/root" + a.tree + "/file") })
	add(byFollowed, "/dev/stdin", func(a *metadataActor) { a.fail(unix.Dup3(file(a), 0, 0)); a.at("/dev/stdin") })
	add(byPath, "relative in /proc", func(a *metadataActor) { fd := file(a); a.chdir("/proc"); a.at(fmt.Sprintf("self/fd/%d", fd)) })
	add(byPath, "relative in /proc/self/fd", func(a *metadataActor) { fd := file(a); a.chdir("/proc/self/fd"); a.at(fmt.Sprint(fd)) })
	add(byPath, "link to /proc", func(a *metadataActor) { a.at(fmt.Sprintf("%s/proc/%d", a.tree, file(a))) })
}

// metadataAnonymous are open files that have no name.
func metadataAnonymous() map[string]func(a *metadataActor) int {
	return map[string]func(a *metadataActor) int{
		"a memory file":    func(a *metadataActor) int { return a.opened(unix.MemfdCreate("victim", unix.MFD_CLOEXEC)) },
		"a pipe":           (*metadataActor).pipe,
		"a socket":         (*metadataActor).socket,
		"an unlinked file": (*metadataActor).unlinked,
	}
}

func threadForms(add addForm) {
	add(byPath, "thread, file", func(a *metadataActor) { a.thread(); a.at(a.tree + "/file") })
	add(byPath, "thread, relative", func(a *metadataActor) { a.thread(); a.chdir(a.tree); a.at("file") })
	add(byPath, "thread, /proc/thread-self", func(a *metadataActor) {
		a.thread()
		a.at(fmt.Sprintf("/proc/thread-self/fd/%d", a.open(a.tree+"/file", unix.O_RDONLY)))
	})
	add(byPath, "thread, /proc/self/task/TID/cwd", func(a *metadataActor) { a.thread(); a.chdir(a.tree); a.at(a.numbered("/proc/self/task/TID/cwd/file")) })
	add(byPath, "thread, /proc/TID", func(a *metadataActor) {
		a.thread()
		a.at(fmt.Sprintf(a.numbered("/proc/TID/fd/%d"), a.open(a.tree+"/file", unix.O_RDONLY)))
	})
	add(byDescriptor, "thread, open", func(a *metadataActor) { a.thread(); a.fd = a.open(a.tree+"/file", unix.O_RDONLY) })
	add(byDirectory, "thread, dirfd", func(a *metadataActor) { a.thread(); a.below(a.open(a.tree, unix.O_PATH), "file") })
}

func directoryForms(add addForm) {
	tree := func(a *metadataActor) int { return a.open(a.tree, unix.O_RDONLY|unix.O_DIRECTORY) }
	add(byDirectory, "dirfd", func(a *metadataActor) { a.below(tree(a), "file") })
	add(byDirectory, "dirfd, link", func(a *metadataActor) { a.below(tree(a), "link") })
	add(byDirectory, "dirfd, away", func(a *metadataActor) { a.below(tree(a), "away") })
	add(byDirectory, "dirfd of a place", func(a *metadataActor) { a.below(a.open(a.tree, unix.O_PATH), "file") })
	add(byDirectory, "dirfd, ..", func(a *metadataActor) { a.below(a.open(a.tree+"/dir", unix.O_PATH), "../file") })
	add(byDirectory, "dirfd, high bits", func(a *metadataActor) { a.below(tree(a)|7<<32, "file") })
	add(byDirectory, "dirfd, file/", func(a *metadataActor) { a.below(tree(a), "file/") })
	add(byDirectory, "dirfd, empty", func(a *metadataActor) { a.below(a.open(a.tree+"/file", unix.O_PATH), "") })
	add(byDirectory, "dirfd of a file", func(a *metadataActor) { a.below(a.open(a.tree+"/file", unix.O_RDONLY), "file") })
	add(byDirectory, "bad dirfd, absolute", func(a *metadataActor) { a.below(-1, a.tree+"/file") })
	add(byDirectory, "bad dirfd", func(a *metadataActor) { a.below(987, "file") })
	add(byDirectory, "negative dirfd", func(a *metadataActor) { a.below(-5, "file") })
	add(byDirectory, "bad dirfd, missing", func(a *metadataActor) { a.below(987, "missing") })
	add(byDirectory, "dirfd of /proc/self/fd", func(a *metadataActor) {
		fd := a.open(a.tree+"/file", unix.O_RDONLY)
		a.below(a.open("/proc/self/fd", unix.O_PATH), fmt.Sprint(fd))
	})
}

func flagForms(add addForm) {
	flagged := func(flags int, set func(a *metadataActor)) func(a *metadataActor) {
		return func(a *metadataActor) { a.flags = flags; set(a) }
	}
	const nofollow, empty = unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH
	for _, path := range []string{"file", "link", "link/", "dirlink/", "away", "awaydir/file", "loop", "missing"} {
		set := func(a *metadataActor) { a.at(a.tree + "/" + path) }
		add(byFlags, "nofollow "+path, flagged(nofollow, set))
		add(byFlags, "empty allowed, "+path, flagged(empty, set))
	}
	place := func(name string, flags int) func(a *metadataActor) {
		return func(a *metadataActor) { a.below(a.open(a.tree+"/"+name, flags|unix.O_NOFOLLOW), "") }
	}
	add(byFlags, "empty path", flagged(empty, place("file", unix.O_RDONLY)))
	add(byFlags, "empty path, nofollow", flagged(empty|nofollow, place("file", unix.O_RDONLY)))
	add(byFlags, "empty path of a place", flagged(empty, place("file", unix.O_PATH)))
	add(byFlags, "empty path of a link", flagged(empty, place("link", unix.O_PATH)))
	add(byFlags, "empty path of a directory", flagged(empty, place("dir", unix.O_PATH)))
	add(byFlags, "empty path, here", flagged(empty, func(a *metadataActor) { a.chdir(a.tree + "/dir"); a.at("") }))
	add(byFlags, "empty path, bad", flagged(empty, func(a *metadataActor) { a.below(987, "") }))
	add(byFlags, "empty path, no pointer", flagged(empty, func(a *metadataActor) { a.fd = a.open(a.tree+"/file", unix.O_RDONLY) }))
	for name, open := range metadataAnonymous() {
		add(byFlags, "empty path, "+name, flagged(empty, func(a *metadataActor) { a.below(a.see(open(a)), "") }))
	}
	add(byFlags, "unknown flag", flagged(8, func(a *metadataActor) { a.at(a.tree + "/file") }))
	add(byFlags, "unknown flag, missing", flagged(8, func(a *metadataActor) { a.at(a.tree + "/missing") }))
	add(byFlags, "unknown flag, bad pointer", flagged(8, func(a *metadataActor) { a.path = metadataBad }))
	add(byFlags, "high bits of flags", flagged(1<<40, func(a *metadataActor) { a.at(a.tree + "/file") }))
	add(byFlags, "no path, nofollow", flagged(nofollow, func(a *metadataActor) { a.fd = a.open(a.tree+"/file", unix.O_RDONLY) }))
}

func descriptorForms(add addForm) {
	open := func(name string, flags int) func(a *metadataActor) {
		return func(a *metadataActor) { a.fd = a.open(a.tree+"/"+name, flags) }
	}
	add(byDescriptor, "open: read", open("file", unix.O_RDONLY))
	add(byDescriptor, "open: directory", open("dir", unix.O_RDONLY|unix.O_DIRECTORY))
	add(byDescriptor, "open: place", open("file", unix.O_PATH))
	add(byDescriptor, "open: place of a link", open("link", unix.O_PATH|unix.O_NOFOLLOW))
	add(byDescriptor, "open: place of a directory", open("dir", unix.O_PATH))
	add(byDescriptor, "open: away", open("away", unix.O_RDONLY))
	add(byDescriptor, "open: closed", func(a *metadataActor) { a.fd = 987 })
	add(byDescriptor, "open: negative", func(a *metadataActor) { a.fd = -1 })
	add(byDescriptor, "open: high bits", func(a *metadataActor) { a.fd = a.open(a.tree+"/file", unix.O_RDONLY) | 7<<32 })
	for name, open := range metadataAnonymous() {
		add(byDescriptor, "open: "+name, func(a *metadataActor) { a.fd = a.see(open(a)) })
	}
}
