package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
)

// skipped is the call number that a tracer sets to skip a call. The kernel does
// nothing for it, and an errno of ours would replace the tracer's answer.
const skipped = 0xffffffff

// Offsets in struct seccomp_data (include/uapi/linux/seccomp.h).
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16 // six of eight bytes each, the lower half first
)

// prelude assembles our part of a program: it answers what libseccomp cannot say
// and falls through to libseccomp's part with everything else. Jumps in BPF are
// relative, so the parts are simply joined.
//
// Calls that libseccomp knows, which is nearly all, leave after two instructions,
// whatever their architecture. That pays when a filter is installed too: the
// kernel runs it once for each call number, to learn which are always allowed
// (kernel/seccomp.c, seccomp_cache_prepare).
func prelude(rules []seccomp.Rule, arch seccomp.Arch) ([]byte, error) {
	audit, err := arch.Audit()
	if err != nil {
		return nil, err
	}
	var answers []bpf.Instruction
	for _, r := range rules {
		number, err := preludeNumber(r, arch)
		if err != nil {
			return nil, err
		}
		answers = append(answers, preludeRule(r, number)...)
	}
	if len(answers)+6 > math.MaxUint8 {
		return nil, fmt.Errorf("the prelude has %d instructions and cannot jump over them", len(answers))
	}
	rest := uint8(len(answers))
	program := append([]bpf.Instruction{
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessOrEqual, Val: seccomp.NewestLibseccomp, SkipTrue: rest + 6},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: skipped, SkipTrue: rest + 5},
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: audit, SkipTrue: rest + 3}, // libseccomp's part answers
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: seccomp.NewestCall, SkipFalse: 1},
		verdict(seccomp.Rule{Answer: unix.ENOSYS}),
	}, answers...)
	return assemble(program)
}

// preludeRule answers the calls of one rule. The call's number is loaded when it
// begins and, for the rule after it, when a condition did not hold.
func preludeRule(r seccomp.Rule, number uint32) []bpf.Instruction {
	body := []bpf.Instruction{verdict(r)}
	if len(r.When) > 0 {
		body = append(body, bpf.LoadAbsolute{Off: atNumber, Size: 4})
	}
	for _, c := range slices.Backward(r.When) {
		body = slices.Concat([]bpf.Instruction{
			bpf.LoadAbsolute{Off: atArgs + 8*uint32(c.Arg), Size: 4},
			bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: uint32(c.Mask)},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(c.Value), SkipFalse: uint8(len(body) - 1)},
		}, body)
	}
	return append([]bpf.Instruction{bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: uint8(len(body))}}, body...)
}

func verdict(r seccomp.Rule) bpf.Instruction {
	if r.Asks() {
		return bpf.RetConstant{Val: unix.SECCOMP_RET_USER_NOTIF}
	}
	return bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(r.Answer)}
}

// preludeNumber refuses what the prelude has no code for.
func preludeNumber(r seccomp.Rule, arch seccomp.Arch) (uint32, error) {
	number, known := seccomp.Number(r.Call, arch)
	if !known || number > seccomp.NewestCall || slices.ContainsFunc(r.When, notInPrelude) {
		return 0, fmt.Errorf("%s cannot be in the prelude: it needs a number up to %d on %s, and no condition but on bits of a lower half", r, seccomp.NewestCall, arch)
	}
	return uint32(number), nil
}

// notInPrelude reports whether a condition looks at more than the lower half of
// an argument, which is one word of struct seccomp_data.
func notInPrelude(c seccomp.Cond) bool {
	return c.Op != seccomp.Under || c.Mask > math.MaxUint32 || c.Arg < 0 || c.Arg > 5
}

func assemble(program []bpf.Instruction) ([]byte, error) {
	raw, err := bpf.Assemble(program)
	if err != nil {
		return nil, fmt.Errorf("assemble the prelude: %w", err)
	}
	var b bytes.Buffer
	err = binary.Write(&b, binary.LittleEndian, raw)
	return b.Bytes(), err
}

func verdictText(r seccomp.Rule) string {
	if r.Asks() {
		return "NOTIFY"
	}
	return fmt.Sprintf("ERRNO(%d)", int(r.Answer))
}

// preludeText shows the prelude as libseccomp shows its part.
func preludeText(rules []seccomp.Rule, arch seccomp.Arch) (string, error) {
	audit, err := arch.Audit()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "#\n# prelude: calls that libseccomp %s does not know\n#\n", libseccompVersion())
	fmt.Fprintf(&b, "if ($arch == %d)\n", audit)
	fmt.Fprintf(&b, "  # newer than Linux %s; %d is a call that a tracer skipped\n", seccomp.NewestKernel, uint32(skipped))
	fmt.Fprintf(&b, "  if ($syscall > %d)\n    if ($syscall != %d)\n      action ERRNO(%d);\n", seccomp.NewestCall, uint32(skipped), int(unix.ENOSYS))
	for _, r := range rules {
		number, err := preludeNumber(r, arch)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "  # filter for syscall %q (%d)\n  if ($syscall == %d)\n", r.Call, number, number)
		for _, c := range r.When {
			fmt.Fprintf(&b, "    if ($a%d.lo32 & 0x%08x == %d)\n", c.Arg, c.Mask, c.Value)
		}
		fmt.Fprintf(&b, "    %saction %s;\n", strings.Repeat("  ", min(1, len(r.When))), verdictText(r))
	}
	return b.String(), nil
}
