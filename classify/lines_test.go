package classify

import (
	"slices"
	"testing"
)

// The lines were printed by bash 5.2, dash 0.5.12, coreutils 9.1, findutils
// 4.9, sed 4.9, tar 1.34, git 2.39, python 3.11, node 20, npm 11, java 17,
// rustc and cargo, gcc 12, binutils 2.40, go 1.26, perl 5.36, curl, awk, jq,
// apt and openssl on Debian 12 as user nobody; only the paths are changed.
// Not printed here, but known from elsewhere, are the lines of rsync, nginx,
// zsh, ruby and of logs; the translated ones are put together from the message
// catalogues of glibc, bash and coreutils.
// One line, read-only, u may change what it names.
var refusals = []struct{ line, want string }{
	// Shells.
	{"bash: line 1: ../new: Permission denied", "write /home/u/new"},
	{"bash: line 1: /srv/x: Permission denied", "write /srv/x"},
	{"bash: line 1: /srv/a b: Permission denied", "write /srv/a b"},
	{"bash: line 1: x: Permission denied", "write /home/u/w/x"},
	{"environment: line 1: ../new: Permission denied", "write /home/u/new"},
	{"./sc.sh: line 1: ../new: Permission denied", "write /home/u/new"},
	{"bash: ../new: Permission denied", "write /home/u/new"},
	{"sh: 1: cannot create /srv/x: Permission denied", "create /srv/x"},
	{"/bin/sh: 1: cannot create /srv/x: Permission denied", "create /srv/x"},
	{"sc.sh: 1: cannot create ../new y: Permission denied", "create /home/u/new y"},
	{"zsh:1: permission denied: /srv/x", "write /srv/x"},
	{"bash: Zeile 1: /srv/x: Keine Berechtigung", "write /srv/x"},
	{"bash: 行 1: /srv/x: 权限不够", "write /srv/x"},
	// coreutils.
	{"touch: cannot touch '/srv/x': Permission denied", "create /srv/x"},
	{"touch: cannot touch '../new': Permission denied", "create /home/u/new"},
	{"touch: cannot touch 'new': Permission denied", "create /home/u/w/new"},
	{`touch: cannot touch "/srv/it's x": Permission denied`, "create /srv/it's x"},
	{`touch: cannot touch '/srv/it'\''s $x': Permission denied`, "create /srv/it's $x"},
	{`touch: cannot touch '/srv/a'$'\n''b': Permission denied`, "create /srv/a\nb"},
	{`touch: cannot touch ''$'\n''x': Permission denied`, "create /home/u/w/\nx"},
	{"touch: cannot touch '/srv/a: b': Permission denied", "create /srv/a: b"},
	{"touch: cannot touch '/srv/Permission denied': Permission denied", "create /srv/Permission denied"},
	{`touch: cannot touch "/srv/it's é": Permission denied`, "create /srv/it's é"},
	{"mkdir: cannot create directory ‘../new’: Permission denied", "create /home/u/new"},
	{"rmdir: failed to remove '/srv/d': Permission denied", "delete /srv/d"},
	{"rm: cannot remove '/srv/d/g': Permission denied", "delete /srv/d/g"},
	{"unlink: cannot unlink '/srv/f': Permission denied", "delete /srv/f"},
	{"cp: cannot create regular file '/srv/f': Permission denied", "create /srv/f"},
	{"cp: cannot create directory '/srv/p': Permission denied", "create /srv/p"},
	{"cp: cannot create symbolic link '/srv/l' to '/bin/ls': Permission denied", "link /srv/l"},
	{"cp: cannot create hard link '/srv/rr' to 'rr': Permission denied", "link /srv/rr"},
	{"ln: failed to create symbolic link '/srv/l': Permission denied", "link /srv/l"},
	{"ln: failed to create hard link '/srv/h' => 'rr': Permission denied", "link /srv/h"},
	{"link: cannot create link '/srv/hl' to 'f': Permission denied", "link /srv/hl"},
	{"tee: ../new: Permission denied", "write /home/u/new"},
	{"tee: new: Permission denied", "write /home/u/w/new"},
	{"dd: failed to open '/srv/x': Permission denied", "write /srv/x"},
	{"truncate: cannot open '/srv/f' for writing: Permission denied", "write /srv/f"},
	{"install: cannot create regular file '/srv/i': Permission denied", "create /srv/i"},
	{"mktemp: failed to create file via template ‘/tmp/tmp.XXXXXXXXXX’: Permission denied", "create /tmp/tmp.XXXXXXXXXX"},
	{"mktemp: failed to create directory via template ‘../new.XXXXXX’: Permission denied", "create /home/u/new.XXXXXX"},
	{"split: /srv/preaa: Permission denied", "write /srv/preaa"},
	{"sort: open failed: /srv/s: Permission denied", "write /srv/s"},
	{"shred: /srv/f: failed to open for writing: Permission denied", "write /srv/f"},
	{"mkfifo: cannot create fifo '/srv/p': Permission denied", "create /srv/p"},
	{"mknod: /srv/p: Permission denied", "create /srv/p"},
	{"find: cannot delete ‘/srv/it's’: Permission denied", "delete /srv/it's"},
	// Other tools.
	{"sed: couldn't open temporary file /srv/sedacFVlW: Permission denied", "create /srv/sedacFVlW"},
	{"sed: couldn't open file ../new: Permission denied", "write /home/u/new"},
	{"Can't do inplace edit on /srv/f: Cannot make temp name: Permission denied.", "create /srv/f"},
	{"Could not open /srv/x: Permission denied at -e line 1.", "write /srv/x"},
	{"tar: ../new.tar: Cannot open: Permission denied", "write /home/u/new.tar"},
	{"tar: /srv/a b: Cannot open: Permission denied", "write /srv/a b"},
	{"tar: d/f: Cannot mkdir: Permission denied", "create /home/u/w/d/f"},
	{"gzip: /srv/f.gz: Permission denied", "write /srv/f.gz"},
	{"bzip2: Can't create output file /srv/f.bz2: Permission denied.", "create /srv/f.bz2"},
	{"awk: cannot open \"/srv/x\" for output (Permission denied)", "write /srv/x"},
	{"  0     0    0     0 --:--:--     0\r  0     0    0     0 --:--:--     0Warning: Failed to open the file ../new: Permission denied", "write /home/u/new"},
	{"../new: Permission denied", "write /home/u/new"}, // wget -O
	{"Saving key \"/srv/k\" failed: Permission denied", "write /srv/k"},
	{"script: cannot open /srv/ty: Permission denied", "write /srv/ty"},
	{"strace: Can't fopen '/srv/x': Permission denied", "write /srv/x"},
	{"Can't open \"/srv/x\" for writing, Permission denied", "write /srv/x"},
	{`open() "/srv/error.log" failed (13: Permission denied)`, "write /srv/error.log"},
	{"E: Could not open lock file /srv/lock-frontend - open (13: Permission denied)", "write /srv/lock-frontend"},
	{`rsync: [receiver] mkstemp "/srv/.f.abc" failed: Permission denied (13)`, "create /srv/.f.abc"},
	{"make: *** /srv/d: Permission denied.  Stop.", ""}, // a read that the policy grants
	// git.
	{"fatal: Unable to create '/home/u/r/.git/index.lock': Permission denied", "create /home/u/r/.git/index.lock"},
	{"error: could not lock config file /home/u/.gitconfig: Permission denied", "write /home/u/.gitconfig"},
	{"error: could not lock config file .git/config: Permission denied", "write /home/u/w/.git/config"},
	{"fatal: cannot lock ref 'refs/heads/foo': Unable to create '/home/u/r/.git/refs/heads/foo.lock': Permission denied", "create /home/u/r/.git/refs/heads/foo.lock"},
	{"error: cannot open '.git/FETCH_HEAD': Permission denied", "write /home/u/w/.git/FETCH_HEAD"},
	{"fatal: cannot mkdir /srv/foo: Permission denied", "create /srv/foo"},
	{"fatal: could not create work tree dir '../new': Permission denied", "create /home/u/new"},
	{"fatal: could not open 'x.tar' for writing: Permission denied", "write /home/u/w/x.tar"},
	{"error: cannot open patch file ./0001-y.patch: Permission denied", "write /home/u/w/0001-y.patch"},
	// Compilers.
	{"/usr/bin/ld: cannot open output file ../new.out: Permission denied", "write /home/u/new.out"},
	{"Fatal error: can't create ../new.o: Permission denied", "create /home/u/new.o"},
	{"cc1: fatal error: cannot open ‘/srv/a.s’ for writing: Permission denied", "write /srv/a.s"},
	{"a.c:1:1: fatal error: opening dependency file /srv/a.d: Permission denied", "write /srv/a.d"},
	{"ar: /srv/x.a: Permission denied", "write /srv/x.a"},
	// Go.
	{"open /srv/x: permission denied", "write /srv/x"},
	{"open /srv/x13: permission denied", "write /srv/x13"},
	{"open /srv/EACCES: permission denied", "write /srv/EACCES"},
	{"rename f /srv/b: permission denied", "rename /home/u/w/f, rename /srv/b"},
	{"open new: permission denied", "write /home/u/w/new"},
	{"open /srv/a b: permission denied", "write /srv/a b"},
	{"2026/12/01 14:35:22 open /srv/x: permission denied", "write /srv/x"},
	{"    x_test.go:12: open /srv/x: permission denied", "write /srv/x"},
	{"go: creating work dir: mkdir /tmp/go-build123: permission denied", "create /tmp/go-build123"},
	{"failed to initialize build cache at /srv/gc: mkdir /srv/gc: permission denied", "create /srv/gc"},
	// The last path is below /home, which ordinary permissions close to u.
	{"x: go build x: copying /tmp/go-build530172249/b001/exe/a.out: open ../../new/x: permission denied", ""},
	{"remove /srv/x: permission denied", "delete /srv/x"},
	{"unlinkat /srv/x: permission denied", "delete /srv/x"},
	{"rename /tmp/a /srv/b: permission denied", "rename /tmp/a, rename /srv/b"},
	{`time=2026 level=ERROR msg="cannot save" err="open /srv/x: permission denied"`, "write /srv/x"},
	{`{"level":"error","msg":"open /srv/x: permission denied"}`, "write /srv/x"},
	// Python.
	{"PermissionError: [Errno 13] Permission denied: '/srv/x'", "write /srv/x"},
	{"PermissionError: [Errno 13] Permission denied: b'/srv/q'", "write /srv/q"},
	{`PermissionError: [Errno 13] Permission denied: '/srv/é\n x'`, "write /srv/é\n x"},
	{`PermissionError: [Errno 13] Permission denied: "/srv/it's"`, "write /srv/it's"},
	{"PermissionError: [Errno 13] Permission denied: '/srv/Permission denied'", "write /srv/Permission denied"},
	{"PermissionError: [Errno 13] Permission denied: 'f' -> '../new'", "write /home/u/new"},
	{"Error: [Errno 13] Permission denied: '/srv/venv'", "write /srv/venv"},
	{"PermissionError: [Errno 13] Keine Berechtigung: '/srv/x'", "write /srv/x"},
	{"PermissionError: [Errno 13] Brak dostępu: '/srv/x'", "write /srv/x"},
	{"    os.mkdir(self, mode)\nPermissionError: [Errno 13] Permission denied: '../new'", "create /home/u/new"},
	{"    fd = os.open(self, flags, mode)\n         ^^^^^^^^^\nPermissionError: [Errno 13] Permission denied: '../new'", "write /home/u/new"},
	{"    os.rename(src, real_dst)\nPermissionError: [Errno 13] Permission denied: '/tmp/a' -> '/srv/b'", "rename /tmp/a, rename /srv/b"},
	{"ERROR: Could not install packages due to an OSError: [Errno 13] Permission denied: '/srv/lib'", "write /srv/lib"},
	// Node and npm.
	{"Error: EACCES: permission denied, open '/srv/x'", "write /srv/x"},
	{"EACCES: permission denied, rename '/tmp/a' -> '/srv/b'", "rename /tmp/a, rename /srv/b"},
	{"Error: EACCES: permission denied, mkdir '../new'", "create /home/u/new"},
	{"Error: EACCES: permission denied, copyfile 'f' -> '../new'", "write /home/u/new"},
	{"Error: EACCES: permission denied, symlink 'f' -> '../new'", "link /home/u/new"},
	{"Error: EACCES: permission denied, unlink '/srv/f'", "delete /srv/f"},
	{"Error: EACCES: permission denied, rmdir '/srv/sub'", "delete /srv/sub"},
	{"Error: EACCES: permission denied, mkdtemp '/srv/xXXXXXX'", "create /srv/xXXXXXX"},
	{"[Error: EACCES: permission denied, open '/srv/it's'] {", "write /srv/it's"},
	{"npm error Error: EACCES: permission denied, open '/srv/package.json'", "write /srv/package.json"},
	{"npm error code EACCES\nnpm error syscall mkdir\nnpm error path /home/u/.npm\nnpm error errno EACCES", "create /home/u/.npm"},
	// Java.
	{"java.io.FileNotFoundException: /srv/x (Permission denied)", "write /srv/x"},
	{"Exception in thread \"main\" java.nio.file.AccessDeniedException: ../new", "write /home/u/new"},
	{"java.nio.file.AccessDeniedException: /tmp/x.jar -> /srv/x.jar", "write /srv/x.jar"},
	// Rust.
	{"error: Permission denied (os error 13) at path \"/srv/tnbvKpY\"", "write /srv/tnbvKpY"},
	{"error: couldn't create a temp dir: Permission denied (os error 13) at path \"/srv/rmetabX6jZ1\"", "create /srv/rmetabX6jZ1"},
	{"error: failed to create directory `/srv/debug`\n\nCaused by:\n  Permission denied (os error 13)", "create /srv/debug"},
	{"error: failed to create package `ro2` at `/srv/.`\n\nCaused by:\n  failed to write `/srv/Cargo.toml`\n\nCaused by:\n  Permission denied (os error 13)", "write /srv/Cargo.toml"},
	{"Error: Os { code: 13, kind: PermissionDenied, message: \"Permission denied\" }", "possible write"},
	{"called `Result::unwrap()` on an `Err` value: Os { code: 13, kind: PermissionDenied, message: \"Permission denied\" }\nnote: run with `RUST_BACKTRACE=1` environment variable", "possible write"},
	{"error: Permission denied (os error 13)", "possible write"},
	// Ruby.
	{"x.rb:1:in `initialize': Permission denied @ rb_sysopen - /srv/x (Errno::EACCES)", "write /srv/x"},
	{"x.rb:1:in `mkdir': Permission denied @ dir_s_mkdir - /srv/x (Errno::EACCES)", "create /srv/x"},
	// Translations.
	{"touch: '/srv/x' kann nicht berührt werden: Keine Berechtigung", "create /srv/x"},
	{"mkdir: das Verzeichnis „/srv/y“ kann nicht angelegt werden: Keine Berechtigung", "create /srv/y"},
	{"mkdir: impossible de créer le répertoire « /srv/y »: Permission non accordée", "create /srv/y"},
	{"touch: no se puede efectuar `touch' sobre '/srv/x': Permiso denegado", "create /srv/x"},
	{"rm: impossibile rimuovere '/srv/x': Permesso negato", "delete /srv/x"},
	{"touch: não foi possível tocar '/srv/x': Permissão negada", "create /srv/x"},
	{"mkdir: ディレクトリ '/srv/y' を作成できません: 許可がありません", "create /srv/y"},
	{"touch: 无法 touch '/srv/x': 权限不够", "create /srv/x"},
	{"mkdir: 无法创建目录 “/srv/y”: 权限不够", "create /srv/y"},
	{"mkdir: 無法建立「/srv/y」目錄: 拒絕不符權限的操作", "create /srv/y"},
	{"mkdir: невозможно создать каталог «/srv/y»: Отказано в доступе", "create /srv/y"},
	// What terminals and tails do to lines.
	{"\x1b[1m\x1b[31mtouch: cannot touch '/srv/x'\x1b[0m: Permission denied\x1b[K\r", "create /srv/x"},
	{"\x1b]8;;file:///a\x1b\\open /srv/x\x1b]8;;\a: permission denied", "write /srv/x"},
	{"\x80\x81 half\nopen /srv/x: permission denied", "write /srv/x"},
	{"touch: cannot touch '/srv/\xff': Permission denied", "create /srv/\xff"},
	// No path.
	{"mytool: Permission denied", "possible write"},
	{"cannot open: Permission denied at -e line 1.", "possible write"},
	{"Permission denied", "possible write"},
}

func TestRefusals(t *testing.T) {
	for _, tc := range refusals {
		if got := joined(run(readOnly(), 1, tc.line+"\n")); got != tc.want {
			t.Errorf("%q:\n got %q\nwant %q", tc.line, got, tc.want)
		}
	}
}

// strange are lines that are nobody's, or not about a file.
var strange = []string{
	"x: Permission denied",
	"git@h: Permission denied (publickey).",
	"git@github.com: Permission denied (publickey,password).",
	"git@github.com: Permission denied.",
	"Permission denied, please try again.",
	"remote: Permission to a/b.git denied to c.",
	"the test checks that permission denied is reported",
	"403 Forbidden: permission denied by policy",
	"403 Forbidden: permission denied",
	"ERROR:  permission denied for table users",
	"ERROR: user 'bob': permission denied",
	"Error: cannot create resource 'pods': permission denied",
	"permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
	"dial unix /srv/docker.sock: connect: permission denied",
	"listen tcp :80: bind: permission denied",
	"bash: connect: Permission denied",
	"bash: line 1: /dev/tcp/1.2.3.4/80: Permission denied",
	"ping: socket: Permission denied",
	"ssh: connect to host x port 22: Permission denied",
	"scp: /srv/x: Permission denied",
	"mount: /srv: permission denied.",
	"fopen https://h/x: permission denied",
	"[sandbox: file access denied under read-only mode]",
	"[sandbox: denied: open /srv/x: Permission denied",
	"./sandbox/denied/Permission denied.txt",
	"./sandbox/denied/Permission denied",
	"+ echo 'bash: line 1: /srv/x: Permission denied'",
	"+ touch: cannot touch '/srv/x': Permission denied",
	"+touch: cannot touch '/srv/x': Permission denied",
	"-touch: cannot touch '/srv/x': Permission denied",
	"> touch: cannot touch '/srv/x': Permission denied",
	"log.txt:3:touch: cannot touch '/srv/x': Permission denied",
	`want "open /srv/x: permission denied"`,
	"touch: cannot touch '/srv/x': Read-only file system",
	"chown: changing ownership of '/srv/x': Operation not permitted",
	"chmod: changing permissions of '/srv/x': Permission denied",
	"touch: setting times of '/srv/x': Permission denied",
	"bash: line 1: kill: (1) - Operation not permitted",
	"  code: 'EACCES',",
	"npm error errno EACCES",
	"  File \"x.py\", line 3, in f\n    s.bind(('', 80))\nPermissionError: [Errno 13] Permission denied",
	"failed to open stream",
	"/ 0(Permission denied",
}

func TestStrangeLines(t *testing.T) {
	for _, line := range strange {
		if got := run(readOnly(), 1, line); got != nil {
			t.Errorf("%q: got %q, want none", line, got)
		}
	}
}

func joined(told []string) string {
	out := ""
	for i, s := range told {
		if i > 0 {
			out += ", "
		}
		out += s
	}
	return out
}

func TestLinesAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, tc := range refusals {
		if seen[tc.line] || slices.Contains(strange, tc.line) {
			t.Errorf("%q stands twice", tc.line)
		}
		seen[tc.line] = true
	}
}
