package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	beginWork        = declare("begin")
	commitWork       = declare("commit")
	rollbackWork     = declare("rollback")
	isolation        = declare("isolation")
	isolationSession = declare("isolation_session")
	isolationDirty   = declare("isolation_dirty")
	sessionSettings  = declare("session")
	sessionBorrow    = declare("session_borrow")
	sessionReturn    = declare("session_return")
	savepoint        = declare("savepoint")
	rollbackTo       = declare("rollback_to")
	releasePoint     = declare("release_savepoint")
	serverRead       = declare("server")
	clockRead        = declare("clock")
	clockKnown       = declare("clock_known")
)

// tries is how often a verb runs as a whole before its error is ErrTransient.
const tries = 6

// attempts repeats f, which is a whole verb, after failures that may pass, so often and for as long as a statement may
// take.
func (s *Store) attempts(ctx context.Context, f func() error) error {
	var err error
	end := time.Now().Add(s.cfg.Limit)
	for n := range tries {
		if n > 0 {
			wait := time.Duration(1+rand.Int64N(8)) * time.Millisecond << n
			select {
			case <-time.After(wait):
			case <-ctx.Done():
				return err
			}
		}
		err = f()
		if errors.Is(err, store.ErrUnclear) {
			return err
		}
		if k := classify(err); k != again && k != broken || time.Now().After(end) {
			return err
		}
	}
	return err
}

// with runs f on one connection, which belongs to nobody else meanwhile. The ctx bounds the wait for it; f is not
// cancelled. A connection of the application's is set up, and given back as it came.
func (s *Store) with(ctx context.Context, f func(q *session) error) (err error) {
	if s.closed.Load() {
		return errClosed
	}
	waiting, cancel := context.WithTimeoutCause(ctx, s.cfg.Limit, errLimit)
	defer cancel()
	c, err := s.db.Conn(waiting)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return late(waiting, err)
	}
	q := &session{store: s, q: c, ctx: context.WithoutCancel(ctx)}
	defer func() {
		if sound := !retiring(err); !sound || !s.own && !q.giveBack() {
			retire(c)
		}
		c.Close()
	}()
	if !s.own {
		if _, err := q.exec(sessionBorrow, s.lockWait()); err != nil {
			return err
		}
	}
	return f(q)
}

// giveBack restores the settings of the application's session and says whether that went well.
func (s *session) giveBack() bool {
	_, err := s.exec(sessionReturn)
	return err == nil
}

// retiring says that a connection must not be used again: it is broken, in an unknown state, or leads to a server that
// takes no writes.
func retiring(err error) bool {
	k := classify(err)
	return k == broken || k == notWritable || errors.Is(err, store.ErrUnclear)
}

// retire takes a connection out of its pool.
func retire(c *sql.Conn) {
	c.Raw(func(any) error { return driver.ErrBadConn })
}

// write runs do in one transaction, again as a whole after failures that may pass. The ctx bounds the wait for a
// connection; once begun, the transaction goes on to its end. Nothing is written where it returns an error, unless that
// wraps store.ErrUnclear.
func (s *Store) write(ctx context.Context, doing string, do func(w *work) error) error {
	return s.writeTo(ctx, doing, nil, do)
}

// writeTo is write for messages to these actors, which may be missing.
func (s *Store) writeTo(ctx context.Context, doing string, keys []store.Key, do func(w *work) error) error {
	err := s.attempts(ctx, func() error {
		return s.with(ctx, func(q *session) error {
			w := newWork(q)
			if err := w.look(keys); err != nil {
				return err
			}
			return s.transact(w, do)
		})
	})
	return translate(doing, err)
}

const (
	// patience is how long a verb that achieved nothing but to find rows of others tries again: those of another
	// process's flush are free in a moment.
	patience = 50 * time.Millisecond
	// impatience is the same for flushes once waiting was in vain, for as long as stubbornness: the rows are held by an
	// application's open transaction, which is to delay nobody else's.
	impatience   = 10 * time.Millisecond
	stubbornness = 30 * time.Second
)

// patiently repeats f, which says whether that is worth it: all that it needed was held by other sessions.
func patiently(ctx context.Context, limit time.Duration, f func() (again bool, err error)) error {
	end := time.Now().Add(limit)
	for wait := time.Millisecond; ; wait = min(2*wait, 16*time.Millisecond) {
		again, err := f()
		if err != nil || !again || time.Now().After(end) {
			return err
		}
		select {
		case <-time.After(wait/2 + rand.N(wait)):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *Store) transact(w *work, do func(w *work) error) error {
	q := w.session
	defer func() {
		if on, ok := q.q.(*sql.Conn); w.manual && !w.automatic() && ok {
			retire(on)
		}
	}()
	if !s.own {
		if _, err := q.exec(isolation); err != nil {
			return err
		}
	}
	if _, err := q.exec(beginWork); err != nil {
		return err
	}
	if err := s.run(w, do); err != nil {
		w.revert()
		if k := classify(err); k != broken && k != notWritable {
			_, failed := errors.AsType[*store.ActionFailed](err) // which says nothing of the connection; automatic will find out
			if _, rolled := q.exec(rollbackWork); rolled != nil && !failed {
				return fmt.Errorf("%w (and roll back: %w)", err, rolled)
			}
		}
		return err
	}
	if _, err := q.exec(commitWork); err != nil {
		w.revert()
		switch code(err) {
		case 1213, 1205, 1020, 1290, 1836, 1792, 3101: // an answer: it was rolled back
			return err
		}
		return fmt.Errorf("%w: %w", store.ErrUnclear, err)
	}
	s.commits.Add(1)
	return nil
}

// run lets no panic leave a transaction open.
func (s *Store) run(w *work, do func(w *work) error) (err error) {
	done := false
	defer func() {
		if !done {
			w.session.exec(rollbackWork)
		}
	}()
	err = do(w)
	done = true
	return err
}

// read runs f, which only reads, statement by statement. The ctx ends the wait for it, while the statement itself goes
// on to its end and leaves the connection sound.
func read[T any](ctx context.Context, s *Store, doing string, f func(q *session) (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	run := func() (a answer) {
		a.err = s.attempts(ctx, func() error {
			return s.with(ctx, func(q *session) (err error) {
				a.value, err = f(q)
				return err
			})
		})
		return a
	}
	var a answer
	if ctx.Done() == nil {
		a = run()
	} else {
		answers := make(chan answer, 1)
		go func() { answers <- run() }()
		select {
		case a = <-answers:
		case <-ctx.Done():
			a.err = ctx.Err()
		}
	}
	if a.err != nil {
		var zero T
		return zero, translate(doing, a.err)
	}
	return a.value, nil
}
