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

// standing is where a pin lies.
type standing uint8

const (
	outside standing = iota
	beneath
	unsure // it seems to lie beneath a root, and that could not be shown
)

// hold tells whether the pin lies beneath a root, and where the kernel says it
// lies. The proof is that walking down from the root, through no symlink, leads
// to the same file.
func (r *roots) hold(p *pin) (where string, s standing) {
	places := r.known()
	for range tries {
		var err error
		if where, err = place(p.fd); err != nil {
			return "", unsure // a path that is too long
		}
		s = outside
		for i, root := range r.list {
			rest, below := cut(where, places[i])
			if below && root.leadsTo(p, rest) {
				return where, beneath
			}
			if below {
				s = unsure
			}
		}
		places = r.refresh()
	}
	return where, s
}

// cut returns the path from a root's place to the file's.
func cut(where, place string) (rest string, below bool) {
	rest, below = strings.CutPrefix(where, place)
	return strings.TrimLeft(rest, "/"), below && place != "" && (rest == "" || rest[0] == '/' || place == "/")
}

func (r root) leadsTo(p *pin, rest string) bool {
	if rest == "" {
		return p.is(r.stat)
	}
	fd, err := unix.Openat2(r.fd, rest, &unix.OpenHow{
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
