package broker

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// answer is what a caller gets: an errno, or the call's value.
type answer struct {
	errno unix.Errno
	value int64
}

func refuse(errno unix.Errno) answer { return answer{errno: errno} }

// The handshake is a call that no kernel takes, a mode for descriptor -1: EBADF.
// Only this broker answers it. That is how a sandbox inside ours learns that it
// is inside. The mode has no set-id bits, which a filter in between may refuse.
const (
	handshakeMode  = 0x5342500d
	handshakeValue = 0x5342500e
)

// judge answers one call. The thread then has the caller's identity.
func (b *Broker) judge(t *thread, n notification) answer {
	s, known := b.shapes[n.number]
	if !known || n.arch != auditArch {
		return refuse(unix.ENOSYS)
	}
	if s.op == fact.OpChmod && s.path == none && int32(n.args[0]) == -1 && uint32(n.args[1]) == handshakeMode {
		return answer{value: handshakeValue}
	}
	r := request{shape: s, args: n.args}
	c, err := b.admit(t, n)
	if c != nil {
		defer c.close()
	}
	if err == nil {
		err = b.perform(c, r)
	}
	if errors.Is(err, errUnreadable) || errors.Is(err, errIdentity) {
		b.facts.add(fact.Denial{Kind: fact.KindMetadata, Op: s.op, Verdict: fact.Possible, Evidence: fact.EvidenceBroker, Rule: err.Error()})
		return refuse(unix.EACCES)
	}
	return refuse(errnoOf(err))
}

var (
	errUnreadable = errors.New("the caller cannot be read")
	errIdentity   = errors.New("the caller's identity cannot be taken")
)

// admit opens the caller and takes its identity. That the notification is still
// valid afterwards shows that the thread is the one that sent it.
func (b *Broker) admit(t *thread, n notification) (*caller, error) {
	c, err := t.openCaller(n.pid)
	if err != nil {
		return c, errUnreadable
	}
	if err := b.use(func(listener int) error { return valid(listener, n.id) }); err != nil {
		return c, err // nobody waits for it
	}
	if t.alone {
		return c, nil
	}
	status, err := c.read("status")
	if err != nil {
		return c, err
	}
	who, err := parseIdentity(status)
	if err != nil {
		return c, err
	}
	if err := t.assume(who); err != nil {
		return c, errIdentity
	}
	return c, nil
}

// perform does what the call asks, where it may.
func (b *Broker) perform(c *caller, r request) error {
	change, err := r.change(c)
	if err != nil {
		return err
	}
	if times, is := change.(timesChange); is && times.nothing() {
		return nil
	}
	named, err := r.target()
	if err != nil {
		return err
	}
	p, err := c.find(named)
	if err != nil {
		return err
	}
	defer p.close()
	where, held := b.roots.hold(p)
	rule := change.forbidden(p)
	switch {
	case rule == "" && (held || p.anonymous()):
		return change.apply(p)
	case rule == "":
		return b.denied(c.thread, p, change, fact.Denial{Op: r.op, Path: where, Rule: ruleOutside}, unix.EACCES)
	}
	return b.denied(c.thread, p, change, fact.Denial{Op: r.op, Path: where, Rule: rule}, unix.EPERM)
}

// denied refuses a change. It is a denial only where the kernel would have made
// the change: else the kernel's own answer is given.
func (b *Broker) denied(t *thread, p *pin, c change, d fact.Denial, errno unix.Errno) error {
	ordinary := p.frozen()
	if ordinary == 0 {
		ordinary = c.ordinary(p, b.outside(t))
	}
	if ordinary != 0 {
		return ordinary
	}
	d.Kind, d.Verdict, d.Evidence = fact.KindMetadata, fact.Denied, fact.EvidenceBroker
	b.facts.add(d)
	return errno
}

// outside is the identity that the caller would have without a sandbox: a caller
// that gave nothing up has what we had.
func (b *Broker) outside(t *thread) identity {
	who := t.now
	if who.effective == t.permitted&^reading && who.owns(b.before.uid) {
		who.effective = b.before.effective
	}
	return who
}
