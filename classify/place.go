package classify

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

// placeState says what is known of a printed path.
type placeState uint8

const (
	found  placeState = iota
	hidden            // ordinary permissions hide it: whatever was refused, they refuse it too
	beyond            // nobody knows, or nobody asks any more
)

// places finds the files that printed paths mean.
type places struct {
	dir   string
	files Files
	known map[string]place
}

type place struct {
	path  string
	state placeState
}

func newPlaces(dir string, files Files) places {
	return places{dir: dir, files: files, known: map[string]place{}}
}

// find returns the absolute path that printed means, free of symlinks where
// its state is found.
func (p places) find(printed string) (string, placeState) {
	abs := printed
	if !path.IsAbs(abs) {
		abs = p.dir + "/" + abs
	}
	if at, seen := p.known[abs]; seen {
		return at.path, at.state
	}
	if len(p.known) >= maxPaths || strings.IndexByte(abs, 0) >= 0 || len(abs) > maxHead {
		return path.Clean(abs), beyond
	}
	at := p.resolve(abs)
	p.known[abs] = at
	return at.path, at.state
}

// maxParents bounds the ".." of one path that are followed.
const maxParents = 8

// resolve follows abs as the kernel does: a ".." leads to the parent of what
// the name before it resolves to, not of the name.
func (p places) resolve(abs string) place {
	real := "/"
	names := strings.Split(abs, "/")
	for parents := 0; ; parents++ {
		n := 0
		for n < len(names) && names[n] != ".." {
			n++
		}
		next, err := p.files.Resolve(path.Join(real, strings.Join(names[:n], "/")))
		switch {
		case errors.Is(err, fs.ErrPermission):
			return place{path.Clean(abs), hidden}
		case err != nil || parents > maxParents || !path.IsAbs(next):
			return place{path.Clean(abs), beyond}
		case n == len(names):
			return place{next, found}
		}
		real, names = path.Dir(next), names[n+1:]
	}
}
