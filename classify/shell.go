package classify

import (
	"slices"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// shells print "NAME: line N: PATH: TEXT", or "NAME: PATH: TEXT" of a script.
var shells = []string{"bash", "-bash", "sh", "dash", "ksh", "rbash"}

// shellStatements are what a shell puts between a path and the errno's text.
var shellStatements = map[string]fact.Op{
	"cannot execute":                 fact.OpExecute,
	"bad interpreter":                fact.OpExecute,
	"cannot open shared object file": fact.OpRead,
}

// isShellLine recognises "bash: line 1: ", in any language, and dash's "sh: 1: ".
func isShellLine(ps []piece) bool {
	if len(ps) < 3 {
		return false
	}
	fields := strings.Fields(ps[1].text)
	return len(fields) <= 2 && slices.ContainsFunc(fields, isNumber)
}

// readShell reads what a shell says after its line number: a path, after the
// name of the builtin that met the refusal.
func readShell(c claim, ps []piece) (claim, bool) {
	said := ps[2:]
	last := said[len(said)-1].text
	if isNumber(ps[1].text) {
		return readDash(c, said)
	}
	if op, ok := shellStatements[last]; ok && len(said) > 1 {
		c.op, c.paths = op, []string{said[len(said)-2].text}
		return c, true
	}
	if isDevice(last) {
		return claim{}, false
	}
	c.paths = []string{last}
	if len(said) > 1 {
		c.op = builtinOp(said[len(said)-2].text)
		return c, true
	}
	c.shell = true
	return c, true
}

// readDash reads dash's lines: of a redirection it says "cannot create" or
// "cannot open", of a program nothing.
func readDash(c claim, said []piece) (claim, bool) {
	last := said[len(said)-1].text
	c.op, c.paths = fact.OpExecute, []string{last}
	if path, ok := strings.CutPrefix(last, "cannot create "); ok {
		c.op, c.paths = fact.OpCreate, []string{path}
	}
	if path, ok := strings.CutPrefix(last, "cannot open "); ok {
		c.op, c.paths = fact.OpRead, []string{path}
	}
	return c, len(said) == 1
}

// isDevice recognises the network files that bash alone knows.
func isDevice(path string) bool {
	return strings.HasPrefix(path, "/dev/tcp/") || strings.HasPrefix(path, "/dev/udp/")
}

func builtinOp(name string) fact.Op {
	switch name {
	case "cd", "pushd", "popd", ".", "source":
		return fact.OpRead
	case "exec":
		return fact.OpExecute
	}
	return ""
}

// markExecution tells a program that could not be started from a redirection:
// the shell then exits with 126, and its line is the last of its kind.
func markExecution(claims []claim, exit fact.Exit) {
	if exit.Code != 126 {
		return
	}
	for i := len(claims) - 1; i >= 0; i-- {
		if claims[i].shell {
			claims[i].op = fact.OpExecute
			return
		}
	}
}
