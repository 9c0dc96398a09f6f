package executor

import (
	"slices"
	"strings"
)

// plainPath is the PATH of a command whose caller has none.
const plainPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// tame are set for every command: no pager waits for a key, and no colours
// cut the text that a model reads.
var tame = []string{"NO_COLOR=1", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat"}

// secretParts are parts of names of variables that hold secrets. secretWords
// count only where no letter follows: PKG_CONFIG_PATH and GIT_AUTHOR_NAME are
// no secrets.
var (
	secretParts = []string{"KEY", "PASSWORD", "PASSWD", "PASSPHRASE", "SECRET", "TOKEN", "CREDENTIAL", "BEARER", "COOKIE"}
	secretWords = []string{"_PAT", "_AUTH", "_PASS", "_PWD"}
)

// Names and prefixes of variables that lead to an agent outside, or that make
// a program run code or load a library.
var (
	leadingNames = []string{
		"SSH_AUTH_SOCK", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "TMUX", "STY",
		"NVIM", "KITTY_LISTEN_ON", "VSCODE_IPC_HOOK_CLI", "BASH_ENV", "ENV", "PGPASSFILE",
	}
	// GIT_CONFIG_*: git fails where a key without its value is left, and a value
	// may be a header with a secret.
	leadingPrefixes = []string{"LD_", "BASH_FUNC_", "GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"}
)

// environ is the command's environment and the names that were scrubbed from
// what it would have inherited. extra wins, and is not scrubbed.
func environ(inherited, keep, extra []string) (env, scrubbed []string) {
	vars := newVars()
	vars.set("PATH=" + plainPath)
	for _, entry := range inherited {
		name, _, ok := strings.Cut(entry, "=")
		switch {
		case !ok || name == "":
		case scrub(name) && !slices.Contains(keep, name):
			scrubbed = append(scrubbed, name)
		default:
			vars.set(entry)
		}
	}
	for _, name := range []string{"OLDPWD", "_", "TMPDIR"} {
		if !slices.Contains(keep, name) {
			vars.drop(name)
		}
	}
	for _, entry := range tame {
		vars.set(entry)
	}
	// LC_ALL would win over it anyway, and a locale that the caller asks for does.
	if !setsLocale(extra) {
		vars.set("LC_MESSAGES=C.UTF-8")
	}
	for _, entry := range extra {
		vars.set(entry)
	}
	slices.Sort(scrubbed)
	return vars.list(), slices.Compact(scrubbed)
}

func scrub(name string) bool {
	name = strings.ToUpper(name)
	return slices.Contains(leadingNames, name) ||
		slices.ContainsFunc(leadingPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(secretParts, func(p string) bool { return strings.Contains(name, p) }) ||
		slices.ContainsFunc(secretWords, func(w string) bool { return hasWord(name, w) })
}

// hasWord reports whether word stands in name with no letter behind it.
func hasWord(name, word string) bool {
	for {
		_, rest, found := strings.Cut(name, word)
		if !found {
			return false
		}
		if rest == "" || rest[0] < 'A' || rest[0] > 'Z' {
			return true
		}
		name = rest
	}
}

func setsLocale(env []string) bool {
	return slices.ContainsFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return name == "LC_ALL" || name == "LC_MESSAGES" || name == "LANG"
	})
}

// vars is an environment without doubles, in the order in which names came.
type vars struct {
	names  []string
	values map[string]string
}

func newVars() *vars { return &vars{values: map[string]string{}} }

func (v *vars) set(entry string) {
	name, value, _ := strings.Cut(entry, "=")
	if _, known := v.values[name]; !known {
		v.names = append(v.names, name)
	}
	v.values[name] = value
}

func (v *vars) drop(name string) {
	delete(v.values, name)
	v.names = slices.DeleteFunc(v.names, func(n string) bool { return n == name })
}

func (v *vars) list() []string {
	list := make([]string, len(v.names))
	for i, name := range v.names {
		list[i] = name + "=" + v.values[name]
	}
	return list
}

// lookup returns the value of a variable, or "".
func lookup(env []string, name string) string {
	value, _ := find(env, name)
	return value
}

func find(env []string, name string) (value string, found bool) {
	for _, entry := range slices.Backward(env) {
		if key, value, _ := strings.Cut(entry, "="); key == name {
			return value, true
		}
	}
	return "", false
}
