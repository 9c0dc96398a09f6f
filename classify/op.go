package classify

import (
	"slices"
	"strings"
	"unicode"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// opWords maps words of a message to an operation. The order counts: "cannot
// create hard link" is a link, "cannot create directory" is no reading.
var opWords = []struct {
	op    fact.Op
	words []string
}{
	{fact.OpLink, []string{"link", "symlink", "linkat", "symlinkat", "hardlink", "linking"}},
	{fact.OpCreate, []string{"create", "creating", "mkdir", "mkdirat", "mkdtemp", "mkstemp", "touch", "mkfifo", "mknod", "temporary", "temp"}},
	{fact.OpDelete, []string{"remove", "removing", "unlink", "unlinkat", "unlinking", "rmdir", "delete", "deleting"}},
	{fact.OpRename, []string{"rename", "renameat", "renaming", "move", "moving"}},
	{fact.OpTruncate, []string{"truncate", "truncating", "ftruncate"}},
	{fact.OpExecute, []string{"exec", "execute", "executing", "execve", "execvp", "spawn", "spawnsync", "run", "interpreter"}},
	{fact.OpWrite, []string{"writing", "write", "output", "copyfile", "save", "saving", "append"}},
	{fact.OpRead, []string{"reading", "read", "opendir", "scandir", "readdir", "readdirent", "readlink", "access", "stat", "statx", "lstat", "chdir", "listing", "find", "change", "script"}},
}

// fileWords say that a message is about a file, though not what was tried.
var fileWords = []string{"open", "opening", "fopen", "openat", "file", "directory", "folder", "dir", "mkdir", "rmdir", "unlink", "symlink", "read", "reading", "write", "writing"}

// elsewhere are words of refusals that are no file accesses: metadata, the
// network, processes.
var elsewhere = []string{
	"ownership", "owner", "permissions", "chmod", "fchmod", "chown", "lchown", "fchown", "times", "timestamps", "utime", "utimes", "utimensat", "futimens", "xattr", "setxattr", "attributes",
	"socket", "bind", "connect", "listen", "sendto", "accept", "setsockopt", "dial",
	"setuid", "setgid", "setgroups", "setns", "kill", "ptrace", "mount", "umount", "unshare", "clone", "fork", "ioctl", "chroot", "reboot", "bpf", "remote",
}

// wordsOf returns the words of a message in lower case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\''
	})
}

// opOf returns the operation that a message's words name, or "".
func opOf(words []string) fact.Op {
	if slices.Contains(words, "open") && slices.Contains(words, "directory") {
		return fact.OpRead
	}
	for _, row := range opWords {
		if containsAny(words, row.words) {
			return row.op
		}
	}
	return ""
}

// aboutFile reports whether a message speaks of a file.
func aboutFile(words []string) bool {
	return opOf(words) != "" || containsAny(words, fileWords)
}

func containsAny(words, wanted []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(wanted, w) })
}

// readers only read the files they name.
var readers = []string{
	"cat", "less", "more", "head", "tail", "tac", "nl", "grep", "egrep", "fgrep", "rg", "ls", "find", "wc", "diff", "cmp", "comm", "du", "stat", "md5sum", "sha1sum", "sha256sum", "sha512sum", "od", "xxd", "hexdump", "strings", "file", "base64", "cut", "paste", "join", "fold", "readlink", "realpath", "cc1", "cc1plus", "make", "tree", "jq", "awk", "gawk", "mawk", "python", "python3",
}

// others do one thing to the files they name. An empty op is a program that
// may do several.
var others = map[string]fact.Op{
	"touch": fact.OpCreate, "mkdir": fact.OpCreate, "mkfifo": fact.OpCreate, "mknod": fact.OpCreate, "mktemp": fact.OpCreate,
	"rm": fact.OpDelete, "rmdir": fact.OpDelete, "unlink": fact.OpDelete,
	"mv": fact.OpRename, "ln": fact.OpLink, "link": fact.OpLink, "truncate": fact.OpTruncate,
	"env": fact.OpExecute, "nice": fact.OpExecute, "timeout": fact.OpExecute, "xargs": fact.OpExecute, "nohup": fact.OpExecute, "setsid": fact.OpExecute, "stdbuf": fact.OpExecute, "exec": fact.OpExecute,
	"tee": fact.OpWrite, "split": fact.OpWrite, "shred": fact.OpWrite,
	"cp": "", "dd": "", "install": "", "sort": "", "tar": "", "gzip": "", "xz": "", "bzip2": "", "zstd": "", "sed": "", "ar": "", "ld": "", "as": "",
}

// speakerOp returns what a program does to files it names without a word; ok
// says that it does name them so.
func speakerOp(name string) (op fact.Op, ok bool) {
	if slices.Contains(readers, name) {
		return fact.OpRead, true
	}
	op, ok = others[name]
	return op, ok
}

// strangers speak of files on other machines, or are refused things that
// ordinary users may not do anyway.
var strangers = []string{
	"ssh", "scp", "sftp", "ping", "mount", "umount", "sudo", "su", "doas", "kill", "pkill", "chmod", "chown", "chgrp", "setfacl", "setfattr", "dmesg", "docker", "podman", "psql", "mysql", "nc", "ncat", "nsenter", "unshare", "bwrap",
}

// speakerName is the name that a speaker is known by: make[1] is make. A
// sentence is no speaker.
func speakerName(speaker string) string {
	if strings.Contains(speaker, " ") {
		return ""
	}
	name := speaker[strings.LastIndexByte(speaker, '/')+1:]
	name, _, _ = strings.Cut(name, "[")
	return name
}
