package classify

import (
	"slices"
	"strings"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// The rules of a policy, as a fact names them.
const (
	ruleWrite   = "outside the writable roots"
	ruleRead    = "unreadable"
	ruleExecute = "not executable"
)

// notOurs is the verdict on a refusal that is not the sandbox's.
const notOurs fact.Verdict = ""

// ruling is the judgement of one access.
type ruling struct {
	verdict fact.Verdict
	op      fact.Op
	path    string
	rule    string
}

// judge finds out whose refusals a run's claims are.
type judge struct {
	places  places
	answers answers
	exact   []fact.Denial
}

func newJudge(o Outcome, files Files) judge {
	return judge{places: newPlaces(o.Dir, files), answers: newAnswers(files), exact: o.Exact}
}

// known reports whether a refusal at the path is known exactly.
func (j judge) known(path string) bool {
	return slices.ContainsFunc(j.exact, func(d fact.Denial) bool { return d.Path == path && path != "" })
}

// denials returns the denials that a claim amounts to.
func (j judge) denials(c claim) []fact.Denial {
	var out []fact.Denial
	for _, r := range j.rulings(c) {
		if r.verdict == notOurs || c.op == "" && j.known(r.path) {
			continue
		}
		if r.op == "" {
			r.op = fact.OpWrite
		}
		out = append(out, fact.Denial{
			Kind: fact.KindFile, Op: r.op, Path: r.path, Verdict: r.verdict,
			Evidence: fact.EvidenceText, Line: c.line, Rule: r.rule,
		})
	}
	return out
}

func (j judge) rulings(c claim) []ruling {
	switch {
	case len(c.paths) == 0:
		return []ruling{{verdict: fact.Possible, op: c.op}}
	case len(c.paths) > 1:
		return j.pair(c)
	case c.family == crossDevice:
		// Without the other end nobody can say whether the rights differ.
		path, _ := j.places.find(c.paths[0])
		return []ruling{{verdict: fact.Possible, op: fact.OpRename, path: path}}
	}
	r := j.single(c.paths[0], c.op)
	if r.verdict == fact.Denied && c.shell && c.op == "" && j.mayBeProgram(c.paths[0], r.path) {
		r.verdict, r.rule = fact.Possible, ""
	}
	return []ruling{r}
}

// mayBeProgram reports whether a shell may have met the refusal in starting a
// program, though its exit status does not say so: "./x" is how programs are
// called, and this one ordinary permissions do not let start.
func (j judge) mayBeProgram(printed, path string) bool {
	return strings.HasPrefix(printed, "./") && j.answers.permits(path, fact.OpExecute) == refused
}

// single judges one access to one path, as printed.
func (j judge) single(printed string, op fact.Op) ruling {
	path, state := j.places.find(printed)
	switch state {
	case beyond:
		return ruling{verdict: fact.Possible, op: op, path: path}
	case hidden:
		return ruling{op: op, path: path}
	}
	return j.decide(path, op)
}

func (j judge) decide(path string, op fact.Op) ruling {
	switch op {
	case "":
		return j.decideUntold(path)
	case fact.OpExecute:
		r := j.refusal(path, op, ruleExecute)
		if r.verdict == notOurs {
			// A shell says the same of a script that it could not read.
			return j.refusal(path, fact.OpRead, ruleRead)
		}
		return r
	case fact.OpRead:
		return j.refusal(path, op, ruleRead)
	}
	return j.refusal(path, op, ruleWrite)
}

// decideUntold judges an access that the line does not name. It was a read if
// the policy refuses reading. It was a change if the policy refuses that, unless
// ordinary permissions refuse reading: then the line may tell of either.
func (j judge) decideUntold(path string) ruling {
	if r := j.refusal(path, fact.OpRead, ruleRead); r.verdict == fact.Denied {
		return r
	}
	r := j.refusal(path, fact.OpWrite, ruleWrite)
	if r.verdict == fact.Denied && j.answers.permits(path, fact.OpRead) == refused {
		return ruling{verdict: fact.Possible, op: fact.OpWrite, path: path}
	}
	return r
}

// refusal is the rule of this package: the policy refuses what ordinary
// permissions allow.
func (j judge) refusal(path string, op fact.Op, rule string) ruling {
	r := ruling{op: op, path: path}
	if j.answers.grants(path, op) {
		return r
	}
	switch j.answers.permits(path, op) {
	case unknown:
		r.verdict = fact.Possible
	case allowed:
		r.verdict, r.rule = fact.Denied, rule
	}
	return r
}
