package main

import (
	"fmt"

	"github.com/sandbox-exec/sandbox-exec/confine/seccomp"
)

// compiled is what becomes of a variant on an architecture.
type compiled struct {
	variant seccomp.Variant
	program []byte
	text    string
}

// compileAll compiles every variant for the architecture.
func compileAll(arch seccomp.Arch) ([]compiled, error) {
	var all []compiled
	for _, v := range seccomp.Variants() {
		c, err := compile(v, arch)
		if err != nil {
			return nil, fmt.Errorf("compile %s: %w", v, err)
		}
		all = append(all, c)
	}
	return all, nil
}

func compile(v seccomp.Variant, arch seccomp.Arch) (compiled, error) {
	own, theirs := split(v, arch)
	head, err := prelude(own, arch)
	if err != nil {
		return compiled{}, err
	}
	headText, err := preludeText(own, arch)
	if err != nil {
		return compiled{}, err
	}
	body, bodyText, err := translate(theirs, arch)
	if err != nil {
		return compiled{}, err
	}
	return compiled{variant: v, program: append(head, body...), text: headText + bodyText}, nil
}

// split parts the variant's rules into those of the prelude and libseccomp's. A
// call that the architecture does not have needs no rule.
func split(v seccomp.Variant, arch seccomp.Arch) (own, theirs []seccomp.Rule) {
	for _, r := range v.Rules() {
		_, has := seccomp.Number(r.Call, arch)
		switch {
		case r.InPrelude():
			own = append(own, r)
		case has:
			theirs = append(theirs, r)
		}
	}
	return own, theirs
}
