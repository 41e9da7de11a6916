package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	beginWork     = declare("begin")
	commitWork    = declare("commit")
	rollbackWork  = declare("rollback")
	savepoint     = declare("savepoint")
	savepointDone = declare("savepoint_release")
	savepointUndo = declare("savepoint_rollback")
	settings      = declare("settings")
	nowRead       = declare("now")
)

// sender is a connection, or a transaction of the application.
type sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	Conn() *pgx.Conn
}

// pipe gathers statements and sends them together: one round trip, however many they are.
type pipe struct {
	to    sender
	ctx   context.Context
	store *Store
	guest bool // in a transaction of the application, whose settings are not ours

	batch    *pgx.Batch
	results  []func(pgx.Rows) error // by statement of the batch; nil where the rows do not matter
	counts   []count
	wrote    bool          // a statement that changes something was gathered
	patience time.Duration // for a lock
	// deserted: the connection was left to somebody who does not give it back.
	deserted bool
	// What the memory was told that this transaction is at.
	instances []string
	actors    []store.Key
}

// enter tells the memory what the transaction is about to work with; a transaction of the application would not say
// when it ends.
func (p *pipe) enter(ids []string, keys []store.Key) {
	if p.guest {
		return
	}
	p.instances, p.actors = append(p.instances, ids...), append(p.actors, keys...)
	p.store.memory.enter(ids, keys)
}

// exec gathers a statement that writes.
func (p *pipe) exec(st statement, args ...any) {
	p.wrote = true
	p.add(st, nil, args...)
}

// query gathers a statement whose rows are read one by one.
func (p *pipe) query(st statement, each func(pgx.Rows) error, args ...any) {
	p.add(st, each, args...)
}

// counted gathers a statement that writes, and puts the number of rows that it wrote into *n.
func (p *pipe) counted(st statement, n *int, args ...any) {
	p.wrote = true
	p.add(st, nil, args...)
	p.counts = append(p.counts, count{len(p.results) - 1, n})
}

// count is where a statement's number of rows goes.
type count struct {
	place int
	n     *int
}

func (p *pipe) add(st statement, each func(pgx.Rows) error, args ...any) {
	if p.batch == nil {
		p.batch = &pgx.Batch{}
	}
	text := p.store.texts[st]
	if p.guest {
		text = p.store.guestTexts[st]
	}
	p.batch.Queue(text, args...)
	p.results = append(p.results, each)
}

// send sends what was gathered and reads all answers. done counts the statements that were answered without an error.
func (p *pipe) send() (done int, err error) {
	if p.batch == nil {
		return 0, nil
	}
	batch, results, counts := p.batch, p.results, p.counts
	p.forget()
	p.store.statements.Add(int64(len(results)))
	answers := p.to.SendBatch(p.ctx, batch)
	var bad error
	for i, each := range results {
		rows, err := answers.Query()
		if err != nil {
			bad = err
			break
		}
		for rows.Next() {
			if each != nil && bad == nil {
				bad = each(rows)
			}
		}
		rows.Close()
		if err := rows.Err(); err != nil {
			bad = err
			break
		}
		if len(counts) > 0 && counts[0].place == i {
			*counts[0].n = int(rows.CommandTag().RowsAffected())
			counts = counts[1:]
		}
		done++
	}
	err = answers.Close()
	if bad != nil {
		err = bad
	}
	if err != nil && p.to.Conn().IsClosed() {
		err = errors.Join(errBroken, err)
	}
	return done, err
}

// forget drops what was gathered and not sent.
func (p *pipe) forget() { p.batch, p.results, p.counts = nil, nil, nil }

// sync sends what was gathered.
func (p *pipe) sync() error {
	_, err := p.send()
	return err
}

// micros and fromMicros translate times; a zero time is 0.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func fromMicros(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// begin gathers what every transaction begins with.
func (p *pipe) begin(lockTimeout time.Duration) {
	p.patience = lockTimeout
	p.add(beginWork, nil)
	p.add(settings, nil, strconv.FormatInt(lockTimeout.Milliseconds(), 10))
}

// clock gathers the reading of the database's clock into *now.
func (p *pipe) clock(now *int64) {
	offset := p.store.offset.Load()
	p.query(nowRead, func(rows pgx.Rows) error {
		err := rows.Scan(now)
		p.store.memory.read(*now - offset)
		return err
	}, offset)
}

// end commits what was written, or ends a transaction that wrote nothing.
func (p *pipe) end() error {
	if !p.wrote {
		p.add(rollbackWork, nil)
		return p.sync()
	}
	p.add(commitWork, nil)
	n := len(p.results)
	done, err := p.send()
	if done == n { // the commit was answered
		p.store.commits.Add(1)
		return nil
	}
	if code(err) == "" && lost(err) && !pgconn.SafeToRetry(err) {
		return fmt.Errorf("%w: %w", store.ErrUnclear, err)
	}
	return err
}

// transact runs do in one transaction. The ctx bounds the wait for a connection; once begun, the transaction goes on to
// its end, within Config.Limit. Nothing is written where it returns an error, unless that wraps store.ErrUnclear. The
// loser of a race that a constraint decided tries again.
func (s *Store) transact(ctx context.Context, doing string, patience time.Duration, do func(w *work) error) error {
	for try := 1; ; try++ {
		err := s.attempt(ctx, patience, do)
		if err != nil && try < 10 && (s.raced(err) && try < 4 || stale(err) && try < 2) {
			continue
		}
		return translate(doing, err)
	}
}

func (s *Store) attempt(ctx context.Context, patience time.Duration, do func(w *work) error) error {
	return s.with(ctx, true, func(ctx context.Context, c *pgxpool.Conn) (err error) {
		w := newWork(&pipe{to: c, ctx: ctx, store: s})
		defer func() { s.memory.leave(w.instances, w.actors) }()
		defer func() {
			if err != nil {
				s.memory.forget(w.boxes)
				w.revert()
				if !w.deserted {
					s.abandon(ctx, c)
				}
			}
		}()
		w.begin(patience)
		if err := do(w); err != nil {
			return err
		}
		if err := w.save(); err != nil {
			return err
		}
		if err := w.end(); err != nil {
			return err
		}
		s.memory.take(w.boxes)
		return nil
	})
}

// abandon ends a transaction that failed, or the connection with it.
func (s *Store) abandon(ctx context.Context, c *pgxpool.Conn) {
	if c.Conn().IsClosed() || c.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	p := &pipe{to: c, ctx: ctx, store: s}
	p.add(rollbackWork, nil)
	if err := p.sync(); err != nil {
		c.Conn().Close(ctx)
	}
}

// with lends a connection. Once it has one, ctx no longer ends the work: cancelling a statement would cost the
// connection. Config.Limit does, and bounds the wait for the connection too.
func (s *Store) with(ctx context.Context, writes bool, f func(ctx context.Context, c *pgxpool.Conn) error) error {
	if s.closed.Load() {
		return errClosed
	}
	waiting, stop := context.WithTimeout(ctx, s.cfg.Limit)
	c, err := s.acquire(waiting, writes)
	stop()
	if err != nil {
		if ctx.Err() == nil && code(err) == "" {
			return fmt.Errorf("%w: %w", store.ErrTransient, err)
		}
		return err
	}
	defer c.Release()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Limit)
	defer cancel()
	err = f(limited, c)
	if readOnly(err) {
		c.Conn().Close(limited) // another connection may lead to the new primary
	}
	return err
}

// read runs statements that only read, in one round trip and a transaction of their own.
func (s *Store) read(ctx context.Context, doing string, gather func(p *pipe)) error {
	return s.single(ctx, doing, gather, nil)
}

// single sends statements in one round trip and a transaction of their own; wrote says whether it is to be counted.
func (s *Store) single(ctx context.Context, doing string, gather func(p *pipe), wrote func() bool) error {
	for try := 1; ; try++ {
		err := s.with(ctx, wrote != nil, func(ctx context.Context, c *pgxpool.Conn) error {
			p := &pipe{to: c, ctx: ctx, store: s}
			p.add(settings, nil, "5000")
			gather(p)
			err := p.sync()
			if err != nil && wrote != nil && code(err) == "" && lost(err) && !pgconn.SafeToRetry(err) {
				return fmt.Errorf("%w: %w", store.ErrUnclear, err)
			}
			if err != nil {
				s.abandon(ctx, c)
			}
			return err
		})
		if err == nil && wrote != nil && wrote() {
			s.commits.Add(1)
		}
		if err != nil && stale(err) && try == 1 {
			continue
		}
		return translate(doing, err)
	}
}
