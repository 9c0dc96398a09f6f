package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
)

// status is the script command "status N PROGRAM [ARGUMENT]...": the program
// must end with exit status N.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM [ARGUMENT]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got, err := exitCode(ts.Exec(args[1], args[2:]...))
	ts.Check(err)
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// exitCode is the status of a process that exited; a process that was killed,
// or that never started, is an error.
func exitCode(err error) (int, error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &exit) && exit.Exited():
		return exit.ExitCode(), nil
	}
	return -1, err
}

// checkDocument is the script command "document FILE [PATH=VALUE]...": the file
// must hold one document that the schema takes, and each value must be what
// lies at the path, such as "denials.0.op"; the path "denials.len" is a length.
func checkDocument(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: document FILE [PATH=VALUE]...")
	}
	value, err := validDocument([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	for _, arg := range args[1:] {
		path, want, _ := strings.Cut(arg, "=")
		got, err := lookUp(value, path)
		ts.Check(err)
		if got != want {
			ts.Fatalf("%s is %q, want %q", path, got, want)
		}
	}
}

func lookUp(value any, path string) (string, error) {
	for key := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			next, found := v[key]
			if !found {
				return "missing", nil
			}
			value = next
		case []any:
			if key == "len" {
				return strconv.Itoa(len(v)), nil
			}
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return "", fmt.Errorf("%s: no element %q of %d", path, key, len(v))
			}
			value = v[i]
		default:
			return "", fmt.Errorf("%s: %q lies in %v", path, key, value)
		}
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	body, err := json.Marshal(value)
	return string(body), err
}

// outerFilter is the program "outer-filter CALL[/FLAGS]=ANSWER PROGRAM
// [ARGUMENT]...": it runs the program under a seccomp filter that gives the
// call that answer. OK is success without any effect. With FLAGS only calls
// with that number in the third argument are answered.
func outerFilter() {
	rule, answer, _ := strings.Cut(os.Args[1], "=")
	name, flags, flagged := strings.Cut(rule, "/")
	filter := kerneltest.Filter{
		Sysno: map[string]uint32{
			"landlock_create_ruleset": unix.SYS_LANDLOCK_CREATE_RULESET,
			"landlock_restrict_self":  unix.SYS_LANDLOCK_RESTRICT_SELF,
			"seccomp":                 unix.SYS_SECCOMP,
			"clone3":                  unix.SYS_CLONE3,
		}[name],
		Errno: map[string]unix.Errno{"EPERM": unix.EPERM, "ENOSYS": unix.ENOSYS, "EINVAL": unix.EINVAL}[answer],
	}
	if flagged {
		value, err := strconv.ParseUint(flags, 10, 64)
		if err != nil {
			panic(err)
		}
		filter.Args = []kerneltest.Arg{{Index: 2, Value: value}}
	}
	if filter.Sysno == 0 || filter.Errno == 0 && answer != "OK" {
		panic("unknown rule " + os.Args[1])
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	code, err := exitCode(kerneltest.RunUnderFilter(cmd, filter))
	if err != nil {
		panic(err)
	}
	os.Exit(code)
}
