package broker

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// act is one system call, with its arguments as the registers hold them.
type act struct {
	number int32
	args   [6]uint64
	what   string
}

// made makes the call on this thread.
func (a act) made() unix.Errno {
	_, _, errno := unix.Syscall6(uintptr(a.number), uintptr(a.args[0]), uintptr(a.args[1]), uintptr(a.args[2]), uintptr(a.args[3]), uintptr(a.args[4]), uintptr(a.args[5]))
	return errno
}

// param is one argument, or the arguments that belong together.
type param struct {
	name   string
	values []uint64
}

func num(name string, values ...uint64) param { return param{name, values} }

// arena keeps what the calls point to.
type arena struct{ kept [][]byte }

func (a *arena) text(s string) uint64 { return a.bytes(append([]byte(s), 0)) }

func (a *arena) bytes(b []byte) uint64 {
	a.kept = append(a.kept, b)
	return uint64(addressOf(b))
}

func (a *arena) paths() []param {
	list := []param{num("null", 0), num("bad address", 1)}
	for _, path := range []string{
		"f", "d", "d/", "link", "dlink/", "dlink/f", "dangling", "loop", "", "f/", "f/x", "missing", "./d/../f", "d/.",
		"/proc/self/fd/500", "/dev/fd/501", "/proc/thread-self/fd/500", "/proc/self/cwd/f", "/proc/self/fd/499", strings.Repeat("n", 300),
		strings.Repeat("d/../", 800) + "f", strings.Repeat("d/../", 900) + "f",
	} {
		list = append(list, num(fmt.Sprintf("%.20q", path), a.text(path)))
	}
	return list
}

// The descriptors that every arena's directory has open: a file, a directory, a
// file's place, a deleted file, a pipe, and none.
func descriptors() []param {
	return []param{
		num("cwd", cwdSigned), num("high cwd", high|cwdShort), num("file", 500), num("directory", 501), num("high directory", high|501),
		num("place", 502), num("deleted", 503), num("pipe", 504), num("none", 499), num("-1", ^uint64(0)),
	}
}

func callFlags() []param {
	const nofollow, empty = unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH
	return []param{
		num("", 0), num("nofollow", nofollow), num("empty", empty), num("nofollow|empty", nofollow|empty),
		num("high nofollow", high|nofollow), num("unknown", 1), num("no automount", unix.AT_NO_AUTOMOUNT),
	}
}

func (a *arena) data(s shape) []param {
	switch s.op {
	case fact.OpChmod:
		return []param{num("0740", 0o740), num("high 0700", high|0o700), num("kind 0754", 0o100754), num("sticky", 0o1755), num("0711", 0o711), num("0755", 0o755)}
	case fact.OpChown:
		const same = uint64(0xffff_ffff)
		return []param{
			num("same", same, same), num("high same", high|same, same), num("own", uint64(os.Getuid()), uint64(os.Getgid())),
			num("other", 4321, same), num("other group", same, 4321), num("back", uint64(os.Getuid()), uint64(os.Getgid())),
		}
	case fact.OpUtime:
		list := []param{num("null", 0), num("bad address", 1)}
		for _, v := range [][4]uint64{{1, 2, 3, 4}, {5, 1e9, 3, 4}, {5, 1e6, 3, 4}, {5, 6, 7, unix.UTIME_OMIT}, {5, unix.UTIME_NOW, 7, unix.UTIME_OMIT}, {5, 6, 7, ^uint64(0)}, {1 << 40, 0, 1 << 62, 0}, {5, unix.UTIME_OMIT, 7, unix.UTIME_OMIT}, {1, 2, 3, 4}} {
			var b []byte
			for _, n := range v {
				b = le.AppendUint64(b, n)
			}
			list = append(list, num(fmt.Sprint(v), a.bytes(b)))
		}
		return list
	}
	return a.attributes(s)
}

func (a *arena) attributes(s shape) []param {
	value := a.bytes(make([]byte, 70000))
	names := []string{"user.a", "user.b", "", "nonsense.a", "plain", "trusted.a", "user.", "system.posix_acl_access", "user." + strings.Repeat("n", 250), "user." + strings.Repeat("n", 251)}
	list := []param{num("null", 0, value, 1, 0), num("bad address", 1, value, 1, 0)}
	for _, name := range names {
		list = append(list, num(fmt.Sprintf("%.20q", name), a.text(name), value, 3, 0))
	}
	if s.remove {
		return list
	}
	user := a.text("user.c")
	return append(
		list,
		num("create", user, value, 3, unix.XATTR_CREATE), num("create again", user, value, 3, unix.XATTR_CREATE),
		num("replace", user, value, 4, high|unix.XATTR_REPLACE), num("both", user, value, 4, 3), num("unknown flag", user, value, 4, 4),
		num("too large", user, value, 65537, 0), num("large", user, value, 65536, 0), num("huge", user, value, 1<<63, 0),
		num("bad value", user, 1, 5, 0), num("empty value", user, 1, 0, 0), num("null value", user, 0, 0, 0),
	)
}

// acts are the calls of one shape: every path with every descriptor and flag,
// and every other argument once.
func (a *arena) acts(number int32, s shape) []act {
	paths, fds, flags := []param{{}}, []param{{}}, []param{{}}
	if s.path != none {
		paths = a.paths()
	}
	if s.fd != none {
		fds = descriptors()
	}
	if s.flags != none {
		flags = callFlags()
	}
	data := a.data(s)
	var list []act
	for _, path := range paths {
		for _, fd := range fds {
			for _, flag := range flags {
				if s.alike(path, fd, flag) {
					list = append(list, s.act(number, path, fd, flag, data[len(list)%len(data)]))
				}
			}
		}
	}
	place := max(0, slices.IndexFunc(paths, func(p param) bool { return p.name == `"f"` }))
	for _, value := range data {
		list = append(list, s.act(number, paths[place], fds[min(2, len(fds)-1)], flags[0], value))
		if s.path != none {
			list = append(list, s.act(number, paths[place], fds[0], flags[0], value))
		}
	}
	return list
}

// alike leaves out what is answered otherwise on purpose. A link of /proc itself
// is no file of a root. And a descriptor is none of the directory's (Linux 6.13
// takes AT_FDCWD as a descriptor where attributes are set).
func (s shape) alike(path, fd, flag param) bool {
	nofollow := s.link || s.flags != none && flag.values[0]&unix.AT_SYMLINK_NOFOLLOW != 0
	inProc := strings.Contains(path.name, "/proc/") || strings.Contains(path.name, "/dev/fd/")
	return !(nofollow && inProc) && !(s.path == none && s.op == fact.OpXattr && strings.Contains(fd.name, "cwd"))
}

func (s shape) act(number int32, path, fd, flag, data param) act {
	a := act{number: number, what: fmt.Sprintf("call %d %s: path %s, descriptor %s, flags %s, data %s", number, s.op, path.name, fd.name, flag.name, data.name)}
	put := func(at int, p param) {
		for i, v := range p.values {
			a.args[at+i] = v
		}
	}
	put(s.data, data)
	for at, p := range map[int]param{s.path: path, s.fd: fd, s.flags: flag} {
		if at != none {
			put(at, p)
		}
	}
	return a
}

// furnish makes a directory for the calls, and opens the descriptors.
func furnish(t *testing.T) string {
	t.Helper()
	dir := workplace(t)
	must(t, os.Mkdir(dir+"/d", 0o755))
	write(t, dir+"/f")
	write(t, dir+"/d/f")
	for name, to := range map[string]string{"link": "f", "dlink": "d", "dangling": "missing", "loop": "loop"} {
		must(t, os.Symlink(to, dir+"/"+name))
	}
	return dir
}

// open puts the descriptors where the calls expect them.
func occupy(t *testing.T, dir string) {
	t.Helper()
	write(t, dir+"/gone")
	for number, f := range map[int]struct {
		path  string
		flags int
	}{500: {"f", unix.O_RDONLY}, 501: {"d", unix.O_RDONLY}, 502: {"f", unix.O_PATH}, 503: {"gone", unix.O_RDONLY}} {
		fd, err := unix.Open(dir+"/"+f.path, f.flags|unix.O_CLOEXEC, 0)
		must(t, err, unix.Dup3(fd, number, unix.O_CLOEXEC), unix.Close(fd))
	}
	must(t, os.Remove(dir+"/gone"))
	var ends [2]int
	must(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	must(t, unix.Dup3(ends[0], 504, unix.O_CLOEXEC), unix.Close(ends[0]), unix.Close(ends[1]))
}

func vacate() {
	for fd := 500; fd <= 504; fd++ {
		unix.Close(fd)
	}
}

// state is what calls can change of a directory's files.
func state(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range []string{"f", "d", "d/f", "link", "dlink", "dangling", "loop"} {
		var stat unix.Stat_t
		must(t, unix.Lstat(dir+"/"+name, &stat))
		names := make([]byte, 4096)
		n, err := unix.Llistxattr(dir+"/"+name, names)
		fmt.Fprintf(&b, "%s %o %d %d %s %s %q %v\n", name, stat.Mode, stat.Uid, stat.Gid, recent(stat.Atim), recent(stat.Mtim), sortedNames(names[:max(n, 0)]), err)
	}
	return b.String()
}

func sortedNames(list []byte) string {
	names := strings.Split(string(list), "\x00")
	slices.Sort(names)
	return strings.Join(names, " ")
}

// recent hides the present, which differs between two calls.
func recent(at unix.Timespec) string {
	if at.Sec > 1_600_000_000 && at.Sec < 1<<39 {
		return "now"
	}
	return fmt.Sprint(at.Sec, at.Nsec)
}

// TestAnswers makes thousands of calls with a broker and without one, and
// compares the errno and what became of the files.
func TestAnswers(t *testing.T) {
	plain, asked := furnish(t), furnish(t)
	free := newStation(t, plain, func() error { return nil })
	held, b := sandboxed(t, asked, asked)
	var memory arena
	all := shapes()
	var numbers []int32
	for number := range all {
		numbers = append(numbers, number)
	}
	count := 0
	for _, number := range sorted(numbers) {
		acts := memory.acts(number, all[number])
		count += len(acts)
		want := outcomes(t, free, plain, acts)
		got := outcomes(t, held, asked, acts)
		for i := range acts {
			if got[i] != want[i] {
				t.Errorf("%s:\n got %s\nwant %s", acts[i].what, got[i], want[i])
				break // what follows differs as well
			}
		}
	}
	if err := b.Err(); err != nil {
		t.Error(err)
	}
	t.Logf("%d calls", count)
}

func outcomes(t *testing.T, s *station, dir string, acts []act) []string {
	t.Helper()
	occupy(t, dir)
	defer vacate()
	before := state(t, dir)
	var list []string
	for _, a := range acts {
		var errno unix.Errno
		s.do(t, func() { errno = a.made() })
		after := state(t, dir)
		outcome := errno.Error()
		if after != before {
			outcome += ", and\n" + after
		}
		list, before = append(list, outcome), after
	}
	return list
}
