package executor

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Spill says whether a stream that memory does not keep whole goes to a file.
type Spill string

const (
	// SpillUnseen spills a stream that no writer of the request gets.
	SpillUnseen Spill = ""
	// SpillAlways spills also what a writer gets.
	SpillAlways Spill = "always"
	// SpillNever keeps the tail alone.
	SpillNever Spill = "never"
)

// spillLimit is how long a stream may be to be spilled, in bytes.
const spillLimit = 67_108_864

var (
	errSpillTooLong = fmt.Errorf("the output is longer than %d bytes, which is the most that is spilled", int64(spillLimit))
	errSpillGone    = errors.New("the directory of the owner was removed meanwhile")
)

// spill is the file of one stream. It is made when memory begins to forget; a
// nil one is never made. One goroutine uses it.
type spill struct {
	store  *spills
	owner  string
	stream string // the beginning of the name
	limit  int64

	file *os.File
	path string // empty once it was given up
	err  error
}

// write writes what comes next in the stream, and first what memory has of it.
func (s *spill) write(before *tail, b []byte) (path string, err error) {
	if s == nil {
		return "", nil
	}
	total := before.total + int64(len(b))
	switch {
	case s.err != nil || total <= tailLimit:
	case s.file == nil:
		s.begin(before.kept, b)
	case total > s.limit:
		s.giveUp(errSpillTooLong)
	default:
		s.append(b)
	}
	return s.path, s.err
}

// begin makes the file. Nothing of the stream was forgotten before.
func (s *spill) begin(before, b []byte) {
	s.limit = spillLimit
	var rlimit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &rlimit); err == nil && rlimit.Cur < spillLimit {
		s.limit = int64(rlimit.Cur) // to write more would kill this program with SIGXFSZ
	}
	if s.file, s.err = s.store.create(s.owner, s.stream); s.err != nil {
		return
	}
	s.path = s.file.Name()
	if int64(len(before)+len(b)) > s.limit {
		s.giveUp(errSpillTooLong)
		return
	}
	s.append(before)
	s.append(b)
}

func (s *spill) append(b []byte) {
	if s.err != nil {
		return
	}
	if _, err := s.file.Write(b); err != nil {
		s.giveUp(err)
	}
}

// giveUp removes a file that will never be whole.
func (s *spill) giveUp(why error) {
	s.err = why
	if err := os.Remove(s.path); err != nil {
		s.err = errors.Join(why, err)
	}
	s.path = ""
	s.file.Close()
}

// close ends the writing. The file's day begins now, however long ago the last
// output was.
func (s *spill) close() {
	if s == nil || s.file == nil {
		return
	}
	if s.path != "" {
		now := time.Now()
		_ = os.Chtimes(s.path, now, now)
	}
	s.file.Close() // and with it the lock
}

// spills is the directory of all spill files, in which every owner has one.
type spills struct {
	dir   string
	sweep sweeper
}

// spillDir is the name in the state directory.
const spillDir = "output"

// ownerDir is the directory of an owner's files. Owners are any text, so its
// name is a digest; "none" is that of commands without an owner.
func (s *spills) ownerDir(owner string) string {
	if owner == "" {
		return filepath.Join(s.dir, "none")
	}
	sum := sha256.Sum256([]byte(owner))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16]))
}

// create makes a new file and takes the lock that says that it is in use. A
// sweep may remove an empty directory at any time, so it is tried again.
func (s *spills) create(owner, stream string) (*os.File, error) {
	s.sweep.now(s.dir)
	dir := s.ownerDir(owner)
	for range 3 {
		f, err := createIn(s.dir, dir, stream+"-"+rand.Text())
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, errSpillGone
}

func createIn(top, dir, name string) (*os.File, error) {
	if err := makePrivate(top, dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	return f, lock(f)
}

// makePrivate makes directories that only this user can use.
func makePrivate(dirs ...string) error {
	for _, dir := range dirs {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		file, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		err = repair(file)
		file.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// lock marks a file as in use, for sweeps of any process. A file system without
// locks has none to spare.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		err = errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), os.Remove(f.Name()), f.Close())
	}
	return err
}
