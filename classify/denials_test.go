package classify

import (
	"reflect"
	"testing"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// Each row is a run in a world of its own.
var runs = []struct {
	name   string
	world  func(*world)
	code   int
	stderr string
	want   string
}{
	{"root granted", func(w *world) { w.writable = []string{"/srv"} }, 1, "touch: cannot touch '/srv/x': Permission denied", ""},
	{"ordinary permissions refuse the write", nil, 1, "bash: line 1: /etc/x: Permission denied", ""},
	{"ordinary permissions refuse the read", func(w *world) { w.closed = []string{"/etc/shadow"} }, 1, "cat: /etc/shadow: Permission denied", ""},
	{"ordinary permissions hide the path", func(w *world) { w.closed = []string{"/root"} }, 1, "bash: line 1: /root/a/b: Permission denied", ""},
	{"directory closed to everybody", func(w *world) { w.closed = []string{home + "/d"} }, 1, "ls: cannot open directory 'd': Permission denied", ""},
	{"cd to a closed directory", func(w *world) { w.closed = []string{"/root"} }, 1, "bash: line 3: cd: /root: Permission denied", ""},
	{"unreadable file", func(w *world) { w.unreadable = []string{"/srv/key"} }, 1, "cat: /srv/key: Permission denied", "read /srv/key"},
	{"unreadable file, nobody says what for", func(w *world) { w.unreadable = []string{"/srv/key"} }, 1, "bash: line 1: /srv/key: Permission denied", "read /srv/key"},
	{"unreadable file, quoted", func(w *world) { w.unreadable = []string{"/srv/key"} }, 1, "head: cannot open '/srv/key' for reading: Permission denied", "read /srv/key"},
	{"unreadable directory", func(w *world) { w.unreadable = []string{"/srv/d"} }, 1, "ls: cannot open directory '/srv/d': Permission denied", "read /srv/d"},
	{"unreadable, in a part before", func(w *world) { w.unreadable = []string{"/srv/key"} }, 1, "sort: cannot read: /srv/key: Permission denied", "read /srv/key"},
	{"unreadable for rust", func(w *world) { w.unreadable = []string{"/srv/key"} }, 1, "error: couldn't read `/srv/key`: Permission denied (os error 13)", "read /srv/key"},
	{"unreadable for python", func(w *world) { w.unreadable = []string{"/srv/key"} }, 1, "/usr/bin/python3: can't open file '/srv/key': [Errno 13] Permission denied", "read /srv/key"},
	{"unreadable for awk", func(w *world) { w.unreadable = []string{"/srv/key"} }, 2, "awk: cannot open /srv/key (Permission denied)", "read /srv/key"},
	{"unreadable for find", func(w *world) { w.unreadable = []string{"/srv/d"} }, 1, "find: ‘/srv/d’: Permission denied", "read /srv/d"},
	{"unreadable for dash", func(w *world) { w.unreadable = []string{"/srv/key"} }, 2, "sh: 1: cannot open /srv/key: Permission denied", "read /srv/key"},
	{"unreadable script", func(w *world) { w.unreadable, w.plain = []string{"/srv/s"}, []string{"/srv/s"} }, 126, "bash: /srv/s: Permission denied", "read /srv/s"},
	{"no execute bit", func(w *world) { w.plain = []string{home + "/notexecutable"} }, 126, "bash: line 1: ./notexecutable: Permission denied", ""},
	{"no execute bit, and another exit status", func(w *world) { w.plain = []string{home + "/n"} }, 1, "bash: line 1: ./n: Permission denied", "possible write /home/u/w/n"},
	{"a redirection to a file with ./", nil, 1, "bash: line 1: ./new: Permission denied", "write /home/u/w/new"},
	{"no execute bit, for dash", func(w *world) { w.plain = []string{home + "/n"} }, 1, "sh: 1: ./n: Permission denied", ""},
	{"no execute bit, for node", func(w *world) { w.plain = []string{"/srv/n"} }, 1, "Error: spawnSync /srv/n EACCES", ""},
	{"no execute bit, for go", func(w *world) { w.plain = []string{"/srv/n"} }, 1, "fork/exec /srv/n: permission denied", ""},
	{"no execute bit, for env", func(w *world) { w.plain = []string{"/srv/n"} }, 1, "env: ‘/srv/n’: Permission denied", ""},
	{"no execute bit, for python", func(w *world) { w.plain = []string{"/srv/n"} }, 1, "    raise child_exception_type(errno_num, err_msg, err_filename)\nPermissionError: [Errno 13] Permission denied: '/srv/n'", ""},
	{"execute refused", func(w *world) { w.unreadable = []string{"/srv/n"} }, 126, "bash: line 1: /srv/n: Permission denied", "execute /srv/n"},
	{"exec builtin", func(w *world) { w.unreadable = []string{"/srv/n"} }, 126, "bash: line 1: exec: /srv/n: cannot execute: Permission denied", "execute /srv/n"},
	{"interpreter", func(w *world) { w.unreadable = []string{"/srv/i"} }, 126, "bash: line 1: ./x: /srv/i: bad interpreter: Permission denied", "execute /srv/i"},
	{"a redirection before a program that did not start", func(w *world) { w.plain = []string{home + "/n"} }, 126, "bash: line 1: /srv/x: Permission denied\nbash: line 2: ./n: Permission denied", "write /srv/x"},
	{"write-only file: either may be meant", func(w *world) { w.writeOnly = []string{"/srv/x"} }, 1, "bash: line 1: /srv/x: Permission denied", "possible write /srv/x"},
	{"symlink out of the root", func(w *world) { w.writable = []string{home}; w.links = map[string]string{home + "/l": "/srv"} }, 1, "open l/x: permission denied", "write /srv/x"},
	{"symlink into the root", func(w *world) { w.writable = []string{home}; w.links = map[string]string{"/srv/l": home} }, 1, "open /srv/l/x: permission denied", ""},
	{"parent of a symlink's target", func(w *world) { w.writable = []string{home}; w.links = map[string]string{home + "/l": "/srv/a"} }, 1, "open l/../x: permission denied", "write /srv/x"},
	{"no answer on the path", func(w *world) { w.failing = []string{"/net"} }, 1, "open /net/x: permission denied", "possible write /net/x"},
	{"no answer on permissions", func(w *world) { w.missing = []string{"/gone"} }, 1, "touch: cannot touch '/gone/x': Permission denied", "possible create /gone/x"},
	{"rename from a granted place", func(w *world) { w.writable = []string{home} }, 1, "mv: cannot move 'f' to '../new': Permission denied", "rename /home/u/new"},
	{"rename that would fail outside", nil, 1, "mv: cannot move 'f' to '/etc/f': Permission denied", ""},
	{"rename that only python knows, from a closed place", nil, 1, "PermissionError: [Errno 13] Permission denied: '/etc/f' -> '../new'", "possible write /home/u/new"},
	{"copy of an unreadable file", func(w *world) { w.unreadable, w.writable = []string{"/srv/k"}, []string{home} }, 1, "Error: EACCES: permission denied, copyfile '/srv/k' -> 'x'", "read /srv/k"},
	{"EXDEV into a root", func(w *world) { w.writable = []string{home} }, 1, "OSError: [Errno 18] Invalid cross-device link: '../f' -> 'b/f'", "rename /home/u/f"},
	{"EXDEV out of a root", func(w *world) { w.writable = []string{home} }, 1, "Error: EXDEV: cross-device link not permitted, rename 'f' -> '/srv/f'", "rename /srv/f"},
	{"EXDEV of a link", func(w *world) { w.writable = []string{home} }, 1, "ln: failed to create hard link 'g' => '/usr/bin/x': Invalid cross-device link", "link /usr/bin/x"},
	{"EXDEV in go", func(w *world) { w.writable = []string{home} }, 1, "rename f /srv/f: invalid cross-device link", "rename /srv/f"},
	{"EXDEV within a root", func(w *world) { w.writable = []string{home} }, 1, "OSError: [Errno 18] Invalid cross-device link: 'a/f' -> 'b/f'", ""},
	{"EXDEV between two granted file systems", func(w *world) { w.writable = []string{home, "/srv"} }, 1, "rename f /srv/f: invalid cross-device link", ""},
	{"EXDEV between two places that are not granted", func(w *world) { w.writable = nil }, 1, "rename /tmp/f /srv/f: invalid cross-device link", "rename /tmp/f, rename /srv/f"},
	{"EXDEV that would fail outside", func(w *world) { w.writable = []string{home} }, 1, "rename f /etc/f: invalid cross-device link", ""},
	{"EXDEV, rename or link", func(w *world) { w.writable = []string{home} }, 1, "OSError: [Errno 18] Invalid cross-device link: '/usr/f' -> 'f'", "possible rename /usr/f"},
	{"EXDEV from a hidden place", func(w *world) { w.writable, w.closed = []string{home}, []string{"/root"} }, 1, "rename /root/a/f f: invalid cross-device link", ""},
	{"EXDEV without paths", nil, 1, "Error: Invalid cross-device link (os error 18)", "possible write"},
	{"EXDEV in npm", func(w *world) { w.writable = []string{home} }, 1, "npm error code EXDEV\nnpm error syscall rename\nnpm error path /srv/a\nnpm error dest /home/u/w/b", "rename /srv/a"},
	{"EXDEV in German", func(w *world) { w.writable = []string{home} }, 1, "ln: Die harte Verknüpfung 'g' => '/srv/x' konnte nicht angelegt werden: Ungültiger Link über Gerätegrenzen hinweg", "link /srv/x"},
	{"names relative to a directory's handle", nil, 1, "    os.unlink(entry.name, dir_fd=topfd)\nPermissionError: [Errno 13] Permission denied: 'g'", "possible delete"},
	{"one fact for one file", nil, 1, "open /srv/x: permission denied\nopen /srv/x: permission denied\n", "write /srv/x"},
	{"possible, but something came after", nil, 1, "mytool: Permission denied\nmytool: giving up", ""},
	{"possible, and only blank lines after", nil, 1, "mytool: Permission denied\n\n \x1b[0m\n", "possible write"},
	{"possible in a run that succeeded", nil, 0, "mytool: Permission denied", ""},
	{"denied in a run that succeeded", nil, 0, "open /srv/x: permission denied", "write /srv/x"},
}

func TestRuns(t *testing.T) {
	for _, tc := range runs {
		w := readOnly()
		if tc.world != nil {
			tc.world(w)
		}
		if got := joined(run(w, tc.code, tc.stderr)); got != tc.want {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

func TestDenialHasAllFields(t *testing.T) {
	o := Outcome{
		Exit: fact.Exit{Code: 1}, Dir: home,
		Stderr: []byte("\x1b[31mbash: line 1: ../new: Permission denied\x1b[0m\n"),
	}
	want := []fact.Denial{{
		Kind: fact.KindFile, Op: fact.OpWrite, Path: "/home/u/new", Verdict: fact.Denied,
		Evidence: fact.EvidenceText, Line: "bash: line 1: ../new: Permission denied",
		Rule: "outside the writable roots",
	}}
	if got := Denials(o, workspaceWrite()); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestStdoutCountsForFailedRunsOnly(t *testing.T) {
	o := Outcome{Dir: home, Stdout: []byte("open /srv/x: permission denied\nmytool: Permission denied\n")}
	for code, want := range []string{"", "write /srv/x"} {
		o.Exit.Code = code
		if got := joined(told(Denials(o, readOnly()))); got != want {
			t.Errorf("exit %d: got %q, want %q", code, got, want)
		}
	}
}

func TestDenied(t *testing.T) {
	denials := []fact.Denial{{Kind: fact.KindFile, Verdict: fact.Denied}}
	for _, tc := range []struct {
		name    string
		exit    fact.Exit
		denials []fact.Denial
		want    bool
	}{
		{"failed", fact.Exit{Code: 1}, denials, true},
		{"failed without denials", fact.Exit{Code: 1}, nil, false},
		{"succeeded", fact.Exit{}, denials, false},
		{"timed out", fact.Exit{TimedOut: true}, denials, true},
		{"killed", fact.Exit{Code: 143, Signal: "SIGTERM"}, denials, true},
		{"possible", fact.Exit{Code: 1}, []fact.Denial{{Kind: fact.KindFile, Verdict: fact.Possible}}, true},
	} {
		if got := Denied(tc.exit, tc.denials); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, got, tc.want)
		}
	}
}
