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

// judge answers one call. The thread then has the caller's identity.
func (b *Broker) judge(t *thread, n notification) answer {
	s, known := b.shapes[n.number]
	if !known || n.arch != auditArch {
		return refuse(unix.ENOSYS)
	}
	if greeting(n) {
		return answer{value: greeted + int64(b.shared)}
	}
	r := request{shape: s, args: n.args}
	c, err := b.admit(t, n)
	if c != nil {
		defer c.rest()
	}
	if err == nil && asksForRoot(n) {
		return b.tellRoot(c, n)
	}
	if err == nil {
		err = b.uninterrupted(func() error { return b.perform(c, r, n.id) })
	}
	if (errors.Is(err, errUnreadable) || errors.Is(err, errIdentity)) && b.waits(n.id) == nil {
		b.facts.add(fact.Denial{Kind: fact.KindMetadata, Op: s.op, Verdict: fact.Possible, Evidence: fact.EvidenceBroker, Rule: err.Error()})
		return refuse(unix.EACCES)
	}
	return refuse(errnoOf(err))
}

// uninterrupted repeats what a signal to us interrupted, as slow file systems let
// it: the caller had none.
func (b *Broker) uninterrupted(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) || b.closed.Load() {
			return err
		}
	}
}

var (
	errUnreadable = errors.New("the caller cannot be read")
	errIdentity   = errors.New("the caller's identity cannot be taken")
)

// admit opens the caller and takes its identity. That the notification is still
// valid after its directory was opened shows that the thread is the one that
// sent it.
func (b *Broker) admit(t *thread, n notification) (*caller, error) {
	c, known, err := t.caller(n.pid)
	if err != nil {
		return nil, errUnreadable
	}
	if !known {
		if err := b.waits(n.id); err != nil {
			return c, err
		}
	}
	if t.alone {
		return c, nil
	}
	who, err := c.identity()
	if err != nil && known {
		t.forget()
		return b.admit(t, n)
	}
	if err != nil {
		return c, err
	}
	if err := t.assume(who); err != nil {
		return c, errIdentity
	}
	return c, nil
}

// waits is an error where nobody waits for the answer any more.
func (b *Broker) waits(id uint64) error {
	return b.use(func(listener int) error { return valid(listener, id) })
}

// perform does what the call asks, where it may, and where somebody still waits
// for it: a caller that was killed while its file was looked for is served no more.
func (b *Broker) perform(c *caller, r request, id uint64) error {
	change, err := r.change(c) // the kernel looks at times before flags
	if err != nil || change.nothing() {
		return err
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
	where, standing := b.roots.hold(p)
	d := fact.Denial{Kind: fact.KindMetadata, Op: r.op, Path: where, Verdict: fact.Denied, Evidence: fact.EvidenceBroker}
	if d.Rule = change.forbidden(p); d.Rule != "" {
		return b.denied(c.thread, p, change, d, unix.EPERM)
	}
	switch {
	case standing == beneath, p.anonymous():
		if err := b.waits(id); err != nil {
			return err
		}
		return change.apply(p)
	case standing == unsure:
		d.Verdict, d.Rule = fact.Possible, ruleUnsure
	default:
		d.Rule = ruleOutside
	}
	return b.denied(c.thread, p, change, d, unix.EACCES)
}

// denied refuses a change. It is a denial only where the kernel would have made
// the change: else the kernel's own answer is given.
func (b *Broker) denied(t *thread, p *pin, c change, d fact.Denial, errno unix.Errno) error {
	ordinary := p.frozen(c)
	if ordinary == 0 {
		ordinary = c.ordinary(p, b.outside(t))
	}
	if ordinary != 0 {
		return ordinary
	}
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
