package executor

import (
	"os"
	"time"
)

// streams are the pipes between a command and its caller.
type streams struct {
	stdout, stderr              *pump
	input                       *os.File // our end of the command's stdin; nil for /dev/null
	spec                        Spec
	childIn, childOut, childErr *os.File
}

func openStreams(s Spec) (*streams, error) {
	st := &streams{spec: s}
	err := st.open()
	if err != nil {
		st.close()
	}
	return st, err
}

func (st *streams) open() (err error) {
	if st.stdout, st.childOut, err = newPump(st.spec.Stdout); err != nil {
		return err
	}
	if st.stderr, st.childErr, err = newPump(st.spec.Stderr); err != nil {
		return err
	}
	if st.spec.Stdin == nil {
		st.childIn, err = os.Open(os.DevNull)
		return err
	}
	st.childIn, st.input, err = os.Pipe()
	return err
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
func (st *streams) drain(giveUp <-chan struct{}, grace time.Duration) {
	if st.input != nil {
		st.input.Close()
	}
	for _, p := range []*pump{st.stdout, st.stderr} {
		p.settle(grace)
	}
	for _, p := range []*pump{st.stdout, st.stderr} {
		select {
		case <-p.done:
			continue
		case <-giveUp:
		}
		select {
		case <-p.done:
		case <-time.After(grace):
		}
	}
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
