package executor

import (
	"io"
	"os"
	"sync"
	"time"
)

// streams are the pipes between a command and its caller.
type streams struct {
	stdout, stderr              *pump
	input                       *os.File // our end of the command's stdin; nil for /dev/null
	spec                        Spec
	childIn, childOut, childErr *os.File
}

func (e *Executor) openStreams(s Spec, k kind) (*streams, error) {
	st := &streams{spec: s}
	err := st.open(e, k)
	if err != nil {
		st.close()
	}
	return st, err
}

func (st *streams) open(e *Executor, k kind) (err error) {
	out, errw := separate(st.spec.Stdout, st.spec.Stderr)
	if st.stdout, st.childOut, err = newPump(out, e.spill(st.spec, out, "stdout"), &width{shared: &e.widths, kind: k}); err != nil {
		return err
	}
	if st.stderr, st.childErr, err = newPump(errw, e.spill(st.spec, errw, "stderr"), &width{shared: &e.widths, kind: k}); err != nil {
		return err
	}
	if st.spec.Stdin == nil {
		st.childIn, err = os.Open(os.DevNull)
		return err
	}
	st.childIn, st.input, err = os.Pipe()
	return err
}

// spill is where a stream goes that memory does not keep whole; nil for nowhere.
func (e *Executor) spill(s Spec, sink io.Writer, stream string) *spill {
	if s.Spill == SpillNever || s.Spill == SpillUnseen && sink != nil {
		return nil
	}
	return &spill{store: &e.spills, owner: s.Owner, stream: stream}
}

// start lets the streams flow. The command holds its ends now, so ours go:
// else there would never be an end of file.
func (st *streams) start() {
	st.closeChildEnds()
	go st.stdout.run()
	go st.stderr.run()
	if st.input != nil {
		go feed(st.input, st.spec.Stdin)
	}
}

// drain waits until all output is read and passed on. How long it waits for
// end of file is bounded; how slow the caller reads is the caller's matter
// until giveUp is closed.
func (st *streams) drain(patience time.Duration, giveUp <-chan struct{}) {
	if st.input != nil {
		st.input.Close()
	}
	pumps := []*pump{st.stdout, st.stderr}
	for _, p := range pumps {
		p.settle(patience)
	}
	for _, p := range pumps {
		select {
		case <-p.done:
		case <-giveUp:
			p.pipe.Close()
		}
	}
}

// separate gives two writers that may be used at the same time. Where both are
// the same it is shared, as os/exec does.
func separate(out, errw io.Writer) (io.Writer, io.Writer) {
	if out == nil || !same(out, errw) {
		return out, errw
	}
	shared := &sharedWriter{w: out}
	return shared, shared
}

// same compares two writers; those that cannot be compared are not the same.
func same(a, b io.Writer) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}

type sharedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedWriter) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(b)
}

func (st *streams) closeChildEnds() {
	for _, f := range []*os.File{st.childIn, st.childOut, st.childErr} {
		f.Close() // a nil file answers ErrInvalid
	}
}

// close gives up what was not started. Closing twice does no harm.
func (st *streams) close() {
	st.closeChildEnds()
	if st.input != nil {
		st.input.Close()
	}
	for _, p := range []*pump{st.stdout, st.stderr} {
		if p != nil {
			p.pipe.Close()
		}
	}
}
