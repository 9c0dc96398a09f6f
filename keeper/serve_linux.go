package keeper

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sandbox-exec/sandbox-exec/confine"
	"github.com/sandbox-exec/sandbox-exec/keeper/broker"
)

// server is the keeper itself.
type server struct {
	conn    *conn
	options Options
	groups
	scope *scope
	// births carries what must happen on the one thread that starts helpers:
	// PDEATHSIG follows the forking thread, so that thread must outlive them.
	births chan func()
	// threads are the brokers'; nil where there are none.
	threads *broker.Threads
	// closing is closed when the other end is.
	closing chan struct{}

	runs sync.WaitGroup
	mu   sync.Mutex
	live map[uint64]*run
	// unburied are dead children that a tracer keeps from being reaped.
	unburied []*child
}

// run is one command's place, from the request to the end.
type run struct {
	child *child // nil until the helper is started
	// condemned says that the run was killed before it had a child.
	condemned bool
	made      sync.WaitGroup // zero but while the group is made
	group     *group         // nil where none was asked for
	refused   error          // why there is none that holds what was asked
	spawned   bool           // it ends by itself
}

// serve answers requests until the other end is closed, then kills every run
// that is left and waits for its end.
func serve(c *conn, o Options, g groups, threads *broker.Threads) {
	s := &server{conn: c, options: o, groups: g, threads: threads, births: make(chan func()), closing: make(chan struct{}), live: map[uint64]*run{}}
	life, finish := context.WithCancel(context.Background())
	s.scope = &scope{life: life, environ: o.Environ, self: g.self, births: s.birth}
	go s.deliver()
	s.requests()
	close(s.closing)
	finish()
	s.killAll()
	if s.wait() {
		close(s.births)
		if threads != nil {
			threads.Close()
		}
	}
	s.forgetAll()
	s.scope.close()
	c.close()
}

// wait waits for the end of all runs. It is false where one could not be
// killed; the thread that started it then stays, or its death signal would go
// to a command that is only slow.
func (s *server) wait() bool {
	ended := make(chan struct{})
	go func() {
		s.runs.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(EndPatience):
		return false
	}
}

func (s *server) deliver() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for birth := range s.births {
		birth()
	}
}

// birth has something done on the thread of births, and waits for it.
func (s *server) birth(do func()) {
	done := make(chan struct{})
	s.births <- func() {
		defer close(done)
		do()
	}
	<-done
}

func (s *server) requests() {
	for {
		var req request
		files, err := s.conn.receive(&req)
		if errors.Is(err, errCut) {
			s.tell(event{Run: req.Run, Kind: failed, Step: stepSpawn, Errno: syscall.EMFILE})
			s.runs.Go(func() { s.forget(req.Run) })
			continue
		}
		if err != nil {
			return // at end of file, and where the other end cannot be understood
		}
		switch req.Op {
		case opSpawn:
			if req.Roots < 0 || req.Roots > len(files) || req.Private < 0 || req.Private > req.Roots {
				closeAll(files)
				return // the other end cannot be understood
			}
			r := s.enter(req.Run, func(r *run) { r.spawned = true })
			s.runs.Go(func() {
				r.made.Wait()
				s.run(req, files)
			})
		case opSignal:
			s.signal(req.Run, req.Signal)
			closeAll(files)
		case opGroup:
			r := s.enter(req.Run, func(r *run) { r.made.Add(1) })
			s.runs.Go(func() {
				defer r.made.Done()
				s.makeGroup(req)
			})
			closeAll(files)
		case opForget:
			s.runs.Go(func() { s.forget(req.Run) })
			closeAll(files)
		default:
			closeAll(files)
		}
	}
}

// run is the life of one command.
func (s *server) run(req request, files []*os.File) {
	defer s.leave(req.Run)
	plan, roots := files[:len(files)-req.Roots], files[len(files)-req.Roots:] // requests has looked
	defer closeAll(roots)
	c, err := s.spawn(req, plan)
	if err != nil {
		s.last(notStarted(req.Run, err))
		return
	}
	b, bad := s.listen(c, req, roots)
	if bad != nil {
		c.signal(syscall.SIGKILL)
		_, _ = c.wait()
		s.last(*bad)
		return
	}
	s.tell(event{Run: req.Run, Kind: started, PID: c.pid})
	end, err := c.wait()
	s.bury(c)
	end.Run, end.Kind = req.Run, exited
	if err != nil {
		end.Errno = errnoOf(err)
	}
	s.report(b, &end)
	s.last(end)
	s.outlive(b)
}

func failure(run uint64, answer confine.Answer, err error) event {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return event{Run: run, Kind: failed, Step: stepNoAnswer}
	case err != nil:
		return event{Run: run, Kind: failed, Step: stepNoAnswer, Errno: errnoOf(err)}
	}
	return event{Run: run, Kind: failed, Step: answer.Step, Errno: answer.Errno}
}

// spawn starts a helper and hands it the plan. The files are closed here.
func (s *server) spawn(req request, files []*os.File) (*child, error) {
	defer closeAll(files)
	var c *child
	var err error
	s.birth(func() { c, err = s.startIn(req) })
	if err == nil {
		err = s.enterScope(c)
	}
	if err != nil {
		return nil, err
	}
	if err := s.admit(req.Run, c); err != nil {
		return nil, errors.Join(err, c.discard())
	}
	if err := c.hand(files); err != nil && !errors.Is(err, syscall.EPIPE) {
		return nil, errors.Join(err, c.discard())
	}
	return c, nil // a helper that is gone gives no answer
}

// bury reaps what a tracer has let go since, and remembers c where one has not.
func (s *server) bury(c *child) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unburied = slices.DeleteFunc(append(s.unburied, c), func(c *child) bool {
		_, reaped, err := c.reap()
		return reaped || err != nil
	})
}

// enter is the place of a run, which a group request may have made, once begin has
// noted what begins.
func (s *server) enter(id uint64, begin func(*run)) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.live[id]
	if r == nil {
		r = &run{}
		s.live[id] = r
	}
	begin(r)
	return r
}

func (s *server) leave(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, id)
}

// admit lets a helper have its plan, unless the run was killed meanwhile.
func (s *server) admit(id uint64, c *child) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.live[id]
	if r.condemned {
		return syscall.ECANCELED
	}
	r.child = c
	return nil
}

func (s *server) signal(id uint64, sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.live[id]; r != nil {
		r.signal(sig)
	}
}

func (r *run) signal(sig syscall.Signal) {
	if r.child != nil {
		r.child.signal(sig)
	} else if sig == syscall.SIGKILL {
		r.condemned = true
	}
}

func (s *server) killAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.live {
		r.signal(syscall.SIGKILL)
	}
}

// tell sends an event. What has no room in a message is said in less, or its run
// would neither begin nor end for the caller. Where the other end is gone nobody
// wants it.
func (s *server) tell(e event) {
	if err := s.conn.send(e); errors.Is(err, syscall.EMSGSIZE) {
		_ = s.conn.send(least(e))
	}
}

// errnoOf keeps the errno of an error; one without any is a protocol error.
func errnoOf(err error) syscall.Errno {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return syscall.EPROTO
}
