package broker

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// roots are what the command may change, each held open since before it ran: the
// same descriptors that the Landlock rules were laid on.
type roots struct {
	list []root

	mu     sync.Mutex
	places []string // where each lies, as far as is known
}

type root struct {
	fd   int
	stat unix.Stat_t
}

func newRoots(files []*os.File) (*roots, error) {
	r := &roots{}
	for _, f := range files {
		entry := root{fd: int(f.Fd())}
		if err := unix.Fstat(entry.fd, &entry.stat); err != nil {
			return nil, fmt.Errorf("look at a writable root: %w", err)
		}
		r.list = append(r.list, entry)
	}
	r.refresh()
	return r, nil
}

// refresh asks where the roots lie now: they may have been moved.
func (r *roots) refresh() []string {
	places := make([]string, len(r.list))
	for i, root := range r.list {
		places[i], _ = place(root.fd) // one that cannot be told holds nothing
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.places = places
	return places
}

func (r *roots) known() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.places
}

// tries is how often a file is looked for again that was moved meanwhile.
const tries = 3

// hold reports whether the pin lies beneath a root, and where the kernel says it
// lies. The proof is that walking down from the root, through no symlink, leads
// to the same file.
func (r *roots) hold(p *pin) (where string, held bool) {
	places := r.known()
	for range tries {
		var err error
		if where, err = place(p.fd); err != nil {
			return "", false
		}
		for i, root := range r.list {
			if root.leadsTo(p, places[i], where) {
				return where, true
			}
		}
		places = r.refresh()
	}
	return where, false
}

func (r root) leadsTo(p *pin, place, where string) bool {
	rest, below := strings.CutPrefix(where, place)
	if place == "" || !below {
		return false
	}
	if rest == "" {
		return p.is(r.stat)
	}
	if place != "/" && rest[0] != '/' {
		return false
	}
	fd, err := unix.Openat2(r.fd, strings.TrimLeft(rest, "/"), &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var found unix.Stat_t
	return unix.Fstat(fd, &found) == nil && p.is(found)
}
