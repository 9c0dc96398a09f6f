package seccomp

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Rule refuses one system call with an errno, or asks the broker about it. A
// call that no rule of a filter matches is allowed.
type Rule struct {
	Group Group
	Call  string // the kernel's name of the call
	// Answer is what the call fails with. Zero lets it succeed and do nothing.
	// AskBroker asks the broker (SECCOMP_RET_USER_NOTIF), which answers in its place; without
	// a listener the kernel answers ENOSYS.
	Answer syscall.Errno
	// When holds the conditions, all of which must hold, at most one on an
	// argument (libseccomp takes no more); none means every call.
	When []Cond
	Why  string
}

// AskBroker is no errno: they end at 4095 (include/linux/err.h, MAX_ERRNO).
const AskBroker syscall.Errno = 1 << 12

// Cond is a condition on one argument of a call.
//
// The kernel reads most arguments as int and throws the upper half of the
// register away, so a condition on all 64 bits that asks for equality is passed
// by a value with a high bit set. Hence equality always has a mask. The other
// two are on all 64 bits: a high bit makes them refuse more and never less.
type Cond struct {
	Arg   int // 0 to 5
	Op    Op
	Mask  uint64 // of Under; the others have none
	Value uint64
}

// Op says how a condition compares.
type Op uint8

// The comparisons.
const (
	Under   Op = iota // the bits under the mask are the value
	Differs           // the argument is not the value
	AtLeast           // the argument is the value or more, unsigned
)

// lower is what the kernel keeps of an argument that it reads as int.
const lower = 0xffffffff

// is holds for an int argument of that value.
func is(arg int, value uint64) Cond { return under(arg, lower, value) }

// has holds for an argument that has all of these bits.
func has(arg int, set uint64) Cond { return under(arg, set, set) }

// under holds for an argument that has exactly these bits under a mask.
func under(arg int, mask, value uint64) Cond { return Cond{Arg: arg, Mask: mask, Value: value} }

// differs holds for an argument that is not the value.
func differs(arg int, value uint64) Cond { return Cond{Arg: arg, Op: Differs, Value: value} }

// atLeast holds for an argument that is the value or more; a negative int is.
func atLeast(arg int, value uint64) Cond { return Cond{Arg: arg, Op: AtLeast, Value: value} }

// Holds reports whether the condition holds for the arguments of a call.
func (c Cond) Holds(args [6]uint64) bool {
	switch c.Op {
	case Differs:
		return args[c.Arg] != c.Value
	case AtLeast:
		return args[c.Arg] >= c.Value
	}
	return args[c.Arg]&c.Mask == c.Value
}

// String writes the condition with the argument as $0 to $5.
func (c Cond) String() string {
	switch c.Op {
	case Differs:
		return fmt.Sprintf("$%d != %#x", c.Arg, c.Value)
	case AtLeast:
		return fmt.Sprintf("$%d >= %#x", c.Arg, c.Value)
	}
	return fmt.Sprintf("$%d & %#x == %#x", c.Arg, c.Mask, c.Value)
}

// Asks reports whether the rule leaves its answer to the broker. A program with
// such a rule is to be installed with a listener.
func (r Rule) Asks() bool { return r.Answer == AskBroker }

// Matches reports whether the rule answers a call of its name with these
// arguments.
func (r Rule) Matches(args [6]uint64) bool {
	for _, c := range r.When {
		if !c.Holds(args) {
			return false
		}
	}
	return true
}

// InPrelude reports whether the rule is in our own part of a program, before
// libseccomp's, because libseccomp does not know the call.
func (r Rule) InPrelude() bool {
	number, known := Number(r.Call, AMD64)
	return known && number > NewestLibseccomp
}

// String writes the rule without its reason.
func (r Rule) String() string {
	var when []string
	for _, c := range r.When {
		when = append(when, c.String())
	}
	return fmt.Sprintf("%s(%s)", r.Call, strings.Join(when, ", "))
}

// same reports whether two rules are on the same calls.
func (r Rule) same(other Rule) bool {
	return r.Call == other.Call && slices.Equal(r.When, other.When)
}

// clause is some rules that share an answer and a reason, as the tables have
// them.
type clause struct {
	answer syscall.Errno // as a Rule has it
	why    string
	calls  string // names, separated by spaces
	// when holds alternatives: each makes a rule. None makes one rule without a
	// condition.
	when [][]Cond
}

// expand turns the clauses of a group into rules.
func expand(group Group, clauses []clause) []Rule {
	var rules []Rule
	for _, c := range clauses {
		when := c.when
		if when == nil {
			when = [][]Cond{nil}
		}
		for _, call := range strings.Fields(c.calls) {
			for _, conds := range when {
				rules = append(rules, Rule{Group: group, Call: call, Answer: c.answer, When: conds, Why: c.why})
			}
		}
	}
	return rules
}

// anyOf makes each condition an alternative of its own.
func anyOf(conds ...Cond) [][]Cond {
	var alternatives [][]Cond
	for _, c := range conds {
		alternatives = append(alternatives, []Cond{c})
	}
	return alternatives
}

// allOf makes one alternative of the conditions.
func allOf(conds ...Cond) [][]Cond { return [][]Cond{conds} }

// with adds conditions to each alternative, in front.
func with(alternatives [][]Cond, conds ...Cond) [][]Cond {
	var narrowed [][]Cond
	for _, a := range alternatives {
		narrowed = append(narrowed, slices.Concat(conds, a))
	}
	return narrowed
}
