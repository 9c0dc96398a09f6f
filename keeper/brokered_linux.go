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
	if k.around.Roots > 0 {
		b.Outer = &confine.OuterBroker{Roots: k.around.Roots, Holds: k.around.Holds}
	}
	return b
}

// listen waits for the helper's answer and starts the broker that its filter
// asks. It returns the event of a run that did not begin.
func (s *server) listen(c *child, req request, roots []*os.File) (*broker.Broker, *event) {
	answer, listener, err := c.answer()
	if err != nil || !answer.Ready {
		closeFile(listener)
		bad := failure(req.Run, answer, err)
		return nil, &bad
	}
	if !req.Asks {
		closeFile(listener) // nobody asked for it
		return nil, nil
	}
	err = errNoListener
	var b *broker.Broker
	if listener != nil {
		b, err = broker.Serve(broker.Config{Listener: listener, Roots: roots, Threads: s.threads})
	}
	if err != nil {
		return nil, &event{Run: req.Run, Kind: failed, Step: stepBroker, Errno: errnoOf(err)}
	}
	return b, nil
}

// errNoListener is of a helper that did not do what its plan says.
var errNoListener = errors.New("the helper sent no listener")

func closeFile(f *os.File) {
	if f != nil {
		f.Close()
	}
}

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
