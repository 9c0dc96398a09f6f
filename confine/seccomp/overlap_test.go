package seccomp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOverlaps runs calls that satisfy several rules at once, in whole or in
// part, and compares each program with the rules it was made of: libseccomp
// makes a tree of the conditions, and a call that leaves one branch in the
// middle must still reach the others.
func TestOverlaps(t *testing.T) {
	everyMachine(t, func(t *testing.T, m *machine, v Variant) {
		byCall := map[string][]Rule{}
		for _, r := range v.Rules() {
			if _, has := Number(r.Call, m.arch); has {
				byCall[r.Call] = append(byCall[r.Call], r)
			}
		}
		random := rand.New(rand.NewPCG(1, uint64(v)))
		for call, rules := range byCall {
			for range 10 * len(rules) {
				args := mixed(random, rules)
				if got := m.call(t, call, args); !slices.Contains(answers(rules, args), got) {
					t.Fatalf("%s(%#x) gave %d, the rules say %d", call, args, got, answers(rules, args))
				}
			}
		}
	})
}

// answers are those of the rules that a call's arguments match; allow for none.
func answers(rules []Rule, args [6]uint64) []unix.Errno {
	var found []unix.Errno
	for _, r := range rules {
		if r.Matches(args) {
			found = append(found, r.answer())
		}
	}
	if found == nil {
		return []unix.Errno{allow}
	}
	return found
}

// mixed draws arguments that satisfy some conditions of up to three rules, with
// bits turned around and garbage where no condition looks.
func mixed(random *rand.Rand, rules []Rule) [6]uint64 {
	var args [6]uint64
	for range 1 + random.IntN(3) {
		for _, c := range rules[random.IntN(len(rules))].When {
			satisfy(&args, c, random)
		}
	}
	for i := range args {
		switch random.IntN(8) {
		case 0:
			args[i] ^= 1 << random.IntN(64)
		case 1:
			args[i] |= uint64(random.Uint32()) << 32
		case 2:
			args[i] = random.Uint64() >> random.IntN(64)
		}
	}
	return args
}

func satisfy(args *[6]uint64, c Cond, random *rand.Rand) {
	switch c.Op {
	case Under:
		args[c.Arg] = args[c.Arg]&^c.Mask | c.Value
	case Differs:
		args[c.Arg] = c.Value + uint64(random.IntN(3))
	case AtLeast:
		args[c.Arg] = c.Value + uint64(random.IntN(3)) - 1
	}
}
