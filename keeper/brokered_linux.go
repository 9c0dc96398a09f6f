package keeper

import (
	"errors"
	"os"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/keeper/broker"
)

// brokerThreads are what brokers work on, or why there are none.
func brokerThreads(around broker.Around) (*broker.Threads, error) {
	if around != (broker.Around{}) {
		return nil, errAround
	}
	if err := broker.Available(); err != nil {
		return nil, err
	}
	return broker.NewThreads(confine.Kept)
}

var errAround = errors.New("the sandbox around this one judges already")

// Broker says who judges the calls of commands that a filter cannot.
func (k *Keeper) Broker() confine.Broker {
	b := confine.Broker{Missing: k.broker, Refused: k.around.Refused}
	if k.around.Broker {
		b.Outer = &confine.OuterBroker{Roots: k.around.Roots, Root: k.around.Root}
	}
	return b
}

// listen waits for the helper's answer and starts the broker that its filter asks,
// before the command runs. It returns the event of a run that did not begin.
func (s *server) listen(c *child, req request, roots []*os.File) (*broker.Broker, *event) {
	var b *broker.Broker
	var refused error
	answer, err := c.answer(func(listener *os.File) error {
		b, refused = s.startBroker(req, listener, roots)
		return refused
	})
	if err == nil && answer.Ready && req.Asks && b == nil {
		err, refused = errNoListener, errNoListener
	}
	if err == nil && answer.Ready {
		return b, nil
	}
	bad := failure(req.Run, answer, err)
	if refused != nil {
		bad.Step, bad.Errno = stepBroker, errnoOf(refused)
	}
	if b != nil {
		b.Close()
	}
	return nil, &bad
}

func (s *server) startBroker(req request, listener *os.File, roots []*os.File) (*broker.Broker, error) {
	if !req.Asks || s.threads == nil {
		listener.Close()
		return nil, errNoListener
	}
	return broker.Serve(broker.Config{Listener: listener, Roots: roots, Private: req.Private, Threads: s.threads})
}

// errNoListener is of a helper that did not do what its plan says: it sent none, or
// one that nobody asked for.
var errNoListener = errors.New("the helper does not follow its plan")

// report tells what the broker refused, before the end.
func (s *server) report(b *broker.Broker, end *event) {
	if b == nil {
		return
	}
	facts, dropped := b.Facts()
	for _, f := range facts {
		path := []byte(f.Path)
		f.Path = ""
		s.tell(event{Run: end.Run, Kind: refused, Fact: &f, Path: path})
	}
	end.Dropped = dropped
	if err := b.Err(); err != nil {
		end.Broker = err.Error()
	}
}

// outlive leaves a broker to what is left of its run, until the keeper ends.
func (s *server) outlive(b *broker.Broker) {
	if b == nil {
		return
	}
	select {
	case <-b.Done():
	case <-s.closing:
	}
	b.Close()
}
