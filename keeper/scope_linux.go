package keeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sandbox-exec/sandbox-exec/confine/cgroups"
	"github.com/sandbox-exec/sandbox-exec/keeper/systemd"
	"github.com/sandbox-exec/sandbox-exec/policy"
)

// scope is the systemd user scope of a keeper. It is made by the first run that
// was asked to hold limits which no group of ours can hold; a run that was asked
// for none does without, whatever came before it. A user's session is not
// delegated to the user, but systemd makes delegated scopes for users, and moves
// their processes there.
type scope struct {
	// life ends when the keeper is closed: then no answer is waited for.
	life    context.Context
	environ []string
	self    Name
	// births runs something on the thread that starts processes.
	births func(func())

	mu sync.Mutex
	// unit and the rest are there once the scope is; placeholder is nil until then.
	unit        string
	host        *cgroups.Host
	placeholder *placeholder
	// pid is that of the placeholder from its start on, or 0: it is no command's.
	pid atomic.Int64
}

// scopePatience is how long systemd has for an answer: one that does not give any
// must not hold up a run for long.
const scopePatience = 5 * time.Second

// New makes a run's group in the scope, and the scope where there is none.
func (s *scope) New(name string, l policy.Limits) (*cgroups.Group, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(); err != nil {
		return nil, err
	}
	return s.host.New(name, l)
}

// open makes the scope, also anew where somebody ended it.
func (s *scope) open() error {
	if s.placeholder != nil && !s.placeholder.gone() {
		return nil
	}
	if s.placeholder != nil {
		s.forget(s.placeholder)
	}
	var p *placeholder
	var err error
	s.births(func() {
		if p, err = startPlaceholder(); err == nil {
			s.pid.Store(int64(p.pid))
		}
	})
	if err != nil {
		return err
	}
	unit := groupPrefix + s.self.Next().String() + ".scope"
	if err := s.settle(unit, p); err != nil {
		s.forget(p)
		return err
	}
	s.unit, s.placeholder = unit, p
	return nil
}

// settle has systemd put the placeholder into a scope.
func (s *scope) settle(unit string, p *placeholder) error {
	err := s.ask(func(ctx context.Context, b *systemd.Bus) error { return b.StartScope(ctx, unit, p.pid) })
	if err != nil {
		return err
	}
	host, dir, err := cgroups.Scope(unit, p.pid)
	if err != nil {
		return err
	}
	s.host = host
	return p.guard(dir)
}

// attach has systemd move a helper into its group, and looks whether it is there.
func (s *scope) attach(g *group, pid int) error {
	s.mu.Lock()
	unit := s.unit
	s.mu.Unlock()
	err := s.ask(func(ctx context.Context, b *systemd.Bus) error { return b.Attach(ctx, unit, g.Inside(), pid) })
	if err != nil {
		return err
	}
	return g.Check(pid)
}

func (s *scope) ask(question func(context.Context, *systemd.Bus) error) error {
	ctx, cancel := context.WithTimeout(s.life, scopePatience)
	defer cancel()
	b, err := systemd.Connect(ctx, s.environ)
	if err != nil {
		return err
	}
	defer b.Close()
	return question(ctx, b)
}

// member is the number of the placeholder, or 0.
func (s *scope) member() int { return int(s.pid.Load()) }

// close ends the scope, and whatever is in it.
func (s *scope) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.placeholder != nil {
		s.placeholder.end()
		s.forget(s.placeholder)
	}
}

// forget is for a scope in which nothing is to be killed any more.
func (s *scope) forget(p *placeholder) {
	p.kill()
	s.placeholder = nil
	s.pid.Store(0)
}

// lost is an error where somebody killed the placeholder: when a command ends
// after that, its group may have gone with what it counted.
func (s *scope) lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.placeholder == nil || !s.placeholder.gone() {
		return nil
	}
	return errors.New("the process that kept the systemd user scope was killed meanwhile: which limits were reached is not known for sure")
}

// newGroup makes a run's group, in the scope where it has to be there.
func (s *server) newGroup(name string, l policy.Limits) (*cgroups.Group, error) {
	if !s.needsScope(l) {
		return s.host.New(name, l)
	}
	_, refused := s.host.New(name, l)
	g, err := s.scope.New(name, l)
	if err != nil {
		return nil, fmt.Errorf("%w; and no systemd user scope: %w", refused, err)
	}
	return g, nil
}

// needsScope: a subtree that was handed over by name is where groups go, or
// nowhere.
func (s *server) needsScope(l policy.Limits) bool {
	return s.options.CgroupParent == "" && s.host.Lacks(l)
}

// enterScope moves a helper that could not be started in its group.
func (s *server) enterScope(c *child) error {
	if c.group == nil || c.group.Inside() == "" {
		return nil
	}
	if err := s.scope.attach(c.group, c.pid); err != nil {
		return fmt.Errorf("%w: %w", errJoin, errors.Join(err, c.discard()))
	}
	return nil
}
