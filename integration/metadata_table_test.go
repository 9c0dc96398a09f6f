package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/executor"
	"github.com/sandbox-exec/sandbox-exec/fact"
	"github.com/sandbox-exec/sandbox-exec/internal/kerneltest"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// metadataWorld is where acts happen: each has a tree inside the writable root
// and one outside.
type metadataWorld struct {
	inside, outside string
	run             func(t *testing.T, acts []metadataAct) ([]metadataDone, []fact.Denial)
}

// tried is one act in one world.
type tried struct {
	act  metadataAct
	done metadataDone
	// changed are the files that it changed, below "in" or "out".
	changed []string
	texts   map[string]string
	facts   []fact.Denial
}

const (
	sideIn  = "in"
	sideOut = "out"
)

// metadataBatch is how many acts one run makes: fewer than it can have facts.
const metadataBatch = 200

// try makes the acts; their trees are those of a side.
func (w metadataWorld) try(t *testing.T, side string, acts []metadataAct) (all []tried) {
	t.Helper()
	for batch := range slices.Chunk(acts, metadataBatch) {
		all = append(all, w.batch(t, side, batch)...)
	}
	return all
}

func (w metadataWorld) batch(t *testing.T, side string, batch []metadataAct) []tried {
	t.Helper()
	batch = w.place(t, side, batch)
	before := w.look(batch)
	time.Sleep(kerneltest.Slow(20 * time.Millisecond)) // older kernels count changes by the tick
	done, facts := w.run(t, batch)
	after := w.look(batch)
	if len(done) != len(batch) {
		t.Fatalf("got %d answers, want %d", len(done), len(batch))
	}
	var all []tried
	for i, act := range batch {
		if done[i].Before != nil {
			before[i].add(sideIn, done[i].Before)
			after[i].add(sideIn, done[i].After)
		}
		r := tried{act: act, done: done[i], changed: before[i].changed(after[i]), texts: after[i].texts()}
		for _, d := range facts {
			if strings.HasPrefix(d.Path+"/", act.Tree+"/") || strings.HasPrefix(d.Path+"/", act.Other+"/") {
				r.facts = append(r.facts, d)
			}
		}
		all = append(all, r)
	}
	if counted := countFacts(all); counted != len(facts) {
		t.Errorf("%d facts, of which %d are about no act: %+v", len(facts), len(facts)-counted, stray(all, facts))
	}
	return all
}

func countFacts(all []tried) (n int) {
	for _, r := range all {
		n += len(r.facts)
	}
	return n
}

func stray(all []tried, facts []fact.Denial) []fact.Denial {
	return slices.DeleteFunc(slices.Clone(facts), func(d fact.Denial) bool {
		return slices.ContainsFunc(all, func(r tried) bool { return slices.Contains(r.facts, d) })
	})
}

// place gives every act its two trees and makes them.
func (w metadataWorld) place(t *testing.T, side string, batch []metadataAct) []metadataAct {
	t.Helper()
	mark, err := os.MkdirTemp(w.outside, "batch")
	if err != nil {
		t.Fatal(err)
	}
	batch = slices.Clone(batch)
	for i := range batch {
		name := filepath.Join(filepath.Base(mark), strconv.Itoa(i))
		in, out := filepath.Join(w.inside, name), filepath.Join(w.outside, name)
		batch[i].Tree, batch[i].Other = in, out
		if side == sideOut {
			batch[i].Tree, batch[i].Other = out, in
		}
		f, _ := metadataFormNamed(batch[i].Form)
		if side == sideIn || f.away {
			makeTree(t, w.inside, in, out, f.name)
		}
		if side == sideOut || f.away {
			makeTree(t, w.outside, out, in, f.name)
		}
	}
	return batch
}

// makeTree leaves those in the scratch directory to the victim.
func makeTree(t *testing.T, base, dir, other, form string) {
	t.Helper()
	if base == metadataScratch {
		return
	}
	if err := metadataTree(dir, other, form); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { metadataUnlock(dir) })
}

// look looks at both trees of each act.
func (w metadataWorld) look(batch []metadataAct) []metadataStates {
	var all []metadataStates
	for _, act := range batch {
		states := metadataStates{}
		for _, dir := range []string{act.Tree, act.Other} {
			if side, made := w.side(dir); made {
				states.add(side, metadataLook(dir))
			}
		}
		all = append(all, states)
	}
	return all
}

func (w metadataWorld) side(dir string) (side string, made bool) {
	if strings.HasPrefix(dir, w.outside+"/") {
		return sideOut, true
	}
	return sideIn, w.inside != metadataScratch
}

func (s metadataStates) add(side string, more metadataStates) {
	for name, state := range more {
		s[side+"/"+name] = state
	}
}

// metadataPlain is the world without a sandbox.
func metadataPlain(t *testing.T) metadataWorld {
	t.Helper()
	return metadataWorld{realTempDir(t), realTempDir(t), func(t *testing.T, acts []metadataAct) ([]metadataDone, []fact.Denial) {
		cmd := self(t, "as-victim", "metadata")
		cmd.Stdin = bytes.NewReader(metadataJSON(t, acts))
		var message bytes.Buffer
		cmd.Stderr = &message
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("without the sandbox: %v: %s", err, message.String())
		}
		return metadataAnswers(t, out), nil
	}}
}

// metadataInside is the world under a policy. In read-only the scratch directory
// is what lies inside.
func metadataInside(t *testing.T, p policy.Policy) metadataWorld {
	t.Helper()
	p.Workspace = realTempDir(t)
	w := metadataWorld{inside: p.Workspace, outside: realTempDir(t)}
	if p.Mode == policy.ReadOnly {
		w.inside = metadataScratch
	}
	e := newExecutor(t, executor.Config{})
	w.run = func(t *testing.T, acts []metadataAct) ([]metadataDone, []fact.Denial) {
		var out bytes.Buffer
		r := run(t, e, executor.Request{
			Policy: &p, Argv: []string{selfPath(t), "as-victim", "metadata"}, Stdin: bytes.NewReader(metadataJSON(t, acts)), Stdout: &out,
		})
		if r.Exit.Failed() || r.Denied || len(r.Warnings) > 0 {
			t.Fatalf("got %+v, denied %t, warnings %q: %s", r.Exit, r.Denied, r.Warnings, stderr(r))
		}
		return metadataAnswers(t, out.Bytes()), r.Denials
	}
	return w
}

func metadataJSON(t *testing.T, acts []metadataAct) []byte {
	t.Helper()
	text, err := json.Marshal(acts)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func metadataAnswers(t *testing.T, out []byte) (list []metadataDone) {
	t.Helper()
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatalf("the victim printed %.200q: %v", out, err)
	}
	return list
}

// metadataActs are every call with every form that it takes, and with all data
// that it is refused for.
func metadataActs() (acts []metadataAct) {
	for _, c := range metadataCalls() {
		for _, f := range metadataForms() {
			if c.takes(f.on) {
				acts = append(acts, metadataAct{Call: c.name, Form: f.name})
			}
		}
		for _, form := range []string{"file", "missing", "open: read", "open: closed"} {
			if f, _ := metadataFormNamed(form); !c.takes(f.on) || len(c.words) == 0 {
				continue
			}
			for _, data := range metadataData(c) {
				acts = append(acts, metadataAct{Call: c.name, Form: form, Data: data})
			}
		}
	}
	return acts
}

// TestMetadata makes every call on every kind of path, inside and outside, and
// compares what comes of it with what comes of it without the sandbox: inside
// the same, outside a refusal and a fact wherever the kernel would have made the
// change. The time of change (ctime) tells which file that is.
func TestMetadata(t *testing.T) {
	needs(t)
	for _, side := range []string{sideIn, sideOut} {
		t.Run(side, func(t *testing.T) {
			acts := kerneltest.Some(metadataActs())
			plain := metadataPlain(t).try(t, side, acts)
			for _, mode := range []policy.Mode{policy.WorkspaceWrite, policy.ReadOnly} {
				t.Run(mode.String(), func(t *testing.T) { compareMetadata(t, side, acts, plain, policy.Policy{Mode: mode}) })
			}
		})
	}
}

func compareMetadata(t *testing.T, side string, acts []metadataAct, plain []tried, p policy.Policy) {
	t.Helper()
	var kept []metadataAct
	var want []tried
	for i, act := range acts {
		if f, _ := metadataFormNamed(act.Form); f.away && p.Mode == policy.ReadOnly && side == sideOut {
			continue // nobody outside knows the scratch directory before the run
		}
		kept, want = append(kept, act), append(want, plain[i])
	}
	w := metadataInside(t, p)
	refused, same := 0, 0
	for i, got := range w.try(t, side, kept) {
		if want[i].outside() {
			refused++
			got.refusedLike(t, w, want[i])
			continue
		}
		same++
		got.sameAs(t, want[i])
	}
	t.Logf("%d acts: %d refused, %d the same as without the sandbox", len(kept), refused, same)
	if side == sideOut && refused < len(kept)/3 {
		t.Errorf("only %d acts were refused", refused)
	}
}

// outside says that the kernel changes something outside.
func (r tried) outside() bool {
	return slices.ContainsFunc(r.changed, func(name string) bool { return strings.HasPrefix(name, sideOut+"/") })
}

// refusedLike fails the test unless the act was refused that changed something
// without the sandbox, and is reported.
func (r tried) refusedLike(t *testing.T, w metadataWorld, plain tried) {
	t.Helper()
	call, _ := metadataCallNamed(r.act.Call)
	if r.done.Errno != unix.EACCES || len(r.changed) > 0 {
		t.Errorf("%s: got %q and changed %q, want EACCES; without the sandbox it changes %q", r.act, r.done.Errno, r.changed, plain.changed)
		return
	}
	_, number, _ := strings.Cut(w.outsideTree(r.act), w.outside+"/")
	_, name, _ := strings.Cut(plain.changed[0], "/")
	want := []fact.Denial{{
		Kind: fact.KindMetadata, Op: call.op, Path: filepath.Join(w.outside, number, name), Verdict: fact.Denied,
		Evidence: fact.EvidenceBroker, Rule: "outside the writable roots",
	}}
	if !slices.Equal(r.facts, want) {
		t.Errorf("%s: facts %+v, want %+v", r.act, r.facts, want)
	}
}

func (w metadataWorld) outsideTree(act metadataAct) string {
	if strings.HasPrefix(act.Tree, w.outside+"/") {
		return act.Tree
	}
	return act.Other
}

// known is where the answer inside is another than without the sandbox, and why
// that is as it should be.
func (r tried) known() bool {
	switch {
	case r.act.Call == "lchown" && (strings.Contains(r.act.Form, "/proc") || strings.Contains(r.act.Form, "/dev/fd")):
		// The links of /proc have an owner that root can change until they are
		// forgotten. Here they have none.
		return r.done.Errno == unix.EPERM
	case slices.Contains(r.act.Data, "text:trusted.x"):
		return r.done.Errno == unix.EPERM // root gave up CAP_SYS_ADMIN
	case slices.Contains(r.act.Data, "text:system.posix_acl_access"):
		return true // whether a list is one is looked at only inside
	}
	return false
}

// sameAs fails the test unless the act came to what it comes to without the
// sandbox, and nothing is reported.
func (r tried) sameAs(t *testing.T, plain tried) {
	t.Helper()
	if r.known() {
		return
	}
	if len(r.facts) > 0 && plain.done.Errno != unix.ENOSYS {
		t.Errorf("%s: %q is a fact: %+v", r.act, r.done.Errno, r.facts)
	}
	if plain.done.Errno == unix.ENOSYS && !r.outside() {
		return // the broker gives a newer call to an older kernel (fchmodat2, Linux 6.6)
	}
	if r.act.Form == "open: closed" && r.done.Errno != 0 && plain.done.Errno == unix.EBADF {
		return // of two errors older kernels tell the descriptor's first (before Linux 6.13)
	}
	if r.done.Errno != plain.done.Errno || r.done.Seen != plain.done.Seen || !slices.Equal(r.changed, plain.changed) {
		t.Errorf("%s: got %q, changed %q, %s; want %q, %q, %s", r.act, r.done.Errno, r.changed, r.done.Seen, plain.done.Errno, plain.changed, plain.done.Seen)
	}
	want := maps.Clone(plain.texts)
	maps.DeleteFunc(want, func(name, _ string) bool { _, looked := r.texts[name]; return !looked })
	if !maps.Equal(r.texts, want) {
		t.Errorf("%s: got %s", r.act, difference(r.texts, want))
	}
}

func difference(got, want map[string]string) string {
	var lines []string
	for name, text := range got {
		if want[name] != text {
			lines = append(lines, fmt.Sprintf("%s: %s instead of %s", name, text, want[name]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; ")
}
