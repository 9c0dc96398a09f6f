package executor

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// spillAge is how long a spill file is kept after its last change.
	spillAge = 24 * time.Hour
	// spillTotal is how much all spill files may come to, in bytes.
	spillTotal = 1 << 30
	// sweepEvery bounds what sweeping costs.
	sweepEvery = time.Second
)

// sweeper removes spill files, at most once in a while.
type sweeper struct {
	mu   sync.Mutex
	last time.Time
}

func (s *sweeper) now(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < sweepEvery {
		return
	}
	s.last = time.Now()
	sweepSpills(dir, spillTotal)
}

// spilled is one file of an earlier or a running command.
type spilled struct {
	path  string
	size  int64
	since time.Time
}

// sweepSpills removes the files that are too old, and the oldest where all come
// to more than total. One whose command still runs is left, and counted. What
// cannot be removed is left to the next sweep.
func sweepSpills(dir string, total int64) {
	files, sum := listSpills(dir)
	slices.SortFunc(files, func(a, b spilled) int { return a.since.Compare(b.since) })
	for _, f := range files {
		if sum <= total && time.Since(f.since) < spillAge {
			break
		}
		if f.unused() && os.Remove(f.path) == nil {
			sum -= f.size
		}
	}
	for _, owner := range children(dir) {
		_ = os.Remove(filepath.Join(dir, owner.Name())) // fails where there is anything in it
	}
}

func listSpills(dir string) (files []spilled, sum int64) {
	for _, owner := range children(dir) {
		for _, file := range children(filepath.Join(dir, owner.Name())) {
			info, err := file.Info()
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			f := spilled{filepath.Join(dir, owner.Name(), file.Name()), info.Size(), info.ModTime()}
			files, sum = append(files, f), sum+f.size
		}
	}
	return files, sum
}

func children(dir string) []fs.DirEntry {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil // there is none yet, or the next sweep finds it
	}
	return list
}

// unused reports whether no command writes the file any more, in any process:
// its lock ends with its writer.
func (f spilled) unused() bool {
	file, err := os.OpenFile(f.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer file.Close()
	return unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}
