package broker

import (
	"sync"

	"github.com/sandbox-exec/sandbox-exec/fact"
)

// maxFacts bounds what is kept of a run: a command may try what it likes.
const maxFacts = 256

// facts collects refusals, each once.
type facts struct {
	mu      sync.Mutex
	list    []fact.Denial
	seen    map[fact.Denial]bool
	dropped int
}

func (f *facts) add(d fact.Denial) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.seen[d]:
	case len(f.list) >= maxFacts:
		f.dropped++
	default:
		if f.seen == nil {
			f.seen = map[fact.Denial]bool{}
		}
		f.seen[d] = true
		f.list = append(f.list, d)
	}
}

// all returns what was collected, and how many more refusals there were.
func (f *facts) all() (list []fact.Denial, dropped int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]fact.Denial(nil), f.list...), f.dropped
}
