package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	libseccomp "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
)

// libseccompVersion is the version that makes the programs.
func libseccompVersion() string {
	major, minor, micro := libseccomp.GetLibraryVersion()
	return fmt.Sprintf("%d.%d.%d", major, minor, micro)
}

var targets = map[seccomp.Arch]libseccomp.ScmpArch{
	seccomp.AMD64: libseccomp.ArchAMD64,
	seccomp.ARM64: libseccomp.ArchARM64,
}

// How libseccomp orders the calls of a program: a tree is searched faster, a
// list is read more easily.
const (
	byList = 1
	byTree = 2
)

// translate returns what libseccomp makes of the rules: the program, and its
// pseudo filter code.
func translate(rules []seccomp.Rule, arch seccomp.Arch) (program []byte, text string, err error) {
	program, err = exported(rules, arch, byTree, (*libseccomp.ScmpFilter).ExportBPF)
	if err != nil {
		return nil, "", err
	}
	pfc, err := exported(rules, arch, byList, (*libseccomp.ScmpFilter).ExportPFC)
	return program, strings.ReplaceAll(string(pfc), unnamed, "action NOTIFY;"), err
}

// unnamed is what libseccomp 2.5.4 writes for a notification: it has a name for
// every action but this.
var unnamed = fmt.Sprintf("action %#x;", unix.SECCOMP_RET_USER_NOTIF)

func exported(rules []seccomp.Rule, arch seccomp.Arch, order int, export exporter) ([]byte, error) {
	filter, err := newFilter(targets[arch])
	if err != nil {
		return nil, fmt.Errorf("make a filter for %s: %w", arch, err)
	}
	defer filter.Release()
	if err := filter.SetOptimize(order); err != nil {
		return nil, fmt.Errorf("order a filter: %w", err)
	}
	for _, rule := range rules {
		if err := addRule(filter, rule, arch); err != nil {
			return nil, fmt.Errorf("add %s for %s: %w", rule, arch, err)
		}
	}
	return readBack(filter, export)
}

// newFilter allows what no rule matches and answers ENOSYS to a call of another
// architecture. Level 2 searches the call's rules in a binary tree.
func newFilter(arch libseccomp.ScmpArch) (*libseccomp.ScmpFilter, error) {
	if err := libseccomp.SetAPI(notifyLevel); err != nil {
		return nil, err
	}
	filter, err := libseccomp.NewFilter(libseccomp.ActAllow)
	if err != nil {
		return nil, err
	}
	native, err := libseccomp.GetNativeArch()
	if err == nil && native != arch {
		if err = filter.AddArch(arch); err == nil {
			err = filter.RemoveArch(native)
		}
	}
	if err == nil {
		err = filter.SetBadArchAction(answer(int16(unix.ENOSYS)))
	}
	return filter, err
}

func answer(errno int16) libseccomp.ScmpAction { return libseccomp.ActErrno.SetReturnCode(errno) }

// action is what libseccomp calls the rule's answer.
func action(rule seccomp.Rule) libseccomp.ScmpAction {
	if rule.Asks() {
		return libseccomp.ActNotify
	}
	return answer(int16(rule.Answer))
}

// notifyLevel is the API level from which libseccomp compiles notifications. It
// is set because libseccomp otherwise goes by the kernel that it runs on, and
// the programs are for others.
const notifyLevel = 6

// addRule takes the number of this machine's architecture whatever the filter's
// is: libseccomp translates. A number of the filter's own architecture would be
// translated a second time, without an error, into some other call.
func addRule(filter *libseccomp.ScmpFilter, rule seccomp.Rule, arch seccomp.Arch) error {
	if err := agree(rule.Call, arch); err != nil {
		return err
	}
	native, err := libseccomp.GetSyscallFromName(rule.Call)
	if err != nil {
		return err
	}
	if len(rule.When) == 0 {
		return filter.AddRuleExact(native, action(rule))
	}
	var conds []libseccomp.ScmpCondition
	for _, c := range rule.When {
		cond, err := condition(c)
		if err != nil {
			return err
		}
		conds = append(conds, cond)
	}
	return filter.AddRuleConditionalExact(native, action(rule), conds)
}

func condition(c seccomp.Cond) (libseccomp.ScmpCondition, error) {
	switch c.Op {
	case seccomp.Differs:
		return libseccomp.MakeCondition(uint(c.Arg), libseccomp.CompareNotEqual, c.Value)
	case seccomp.AtLeast:
		return libseccomp.MakeCondition(uint(c.Arg), libseccomp.CompareGreaterEqual, c.Value)
	}
	return libseccomp.MakeCondition(uint(c.Arg), libseccomp.CompareMaskedEqual, c.Mask, c.Value)
}

// agree checks that libseccomp and the table of numbers name the same call.
func agree(call string, arch seccomp.Arch) error {
	ours, known := seccomp.Number(call, arch)
	theirs, err := libseccomp.GetSyscallFromNameByArch(call, targets[arch])
	if has := err == nil && theirs >= 0; has != known || has && int(theirs) != ours {
		return fmt.Errorf("libseccomp says number %d (%v), golang.org/x/sys/unix %d (%v)", theirs, err, ours, known)
	}
	return nil
}

type exporter func(*libseccomp.ScmpFilter, *os.File) error

// readBack reads what libseccomp writes to a file: this version of it writes
// nowhere else.
func readBack(filter *libseccomp.ScmpFilter, export exporter) ([]byte, error) {
	file, err := os.CreateTemp("", "sandbox-exec-filter-")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := export(filter, file); err != nil {
		return nil, fmt.Errorf("export a filter: %w", err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(file)
}
