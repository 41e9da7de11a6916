package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	processRegister = declare("process_register")
	processBeat     = declare("process_beat")
	processList     = declare("process_list")
	processSuspects = declare("process_suspects")
	processLock     = declare("process_lock")
	processStop     = declare("process_stop")
	processPrune    = declare("process_prune")
	ownedInstances  = declare("owned_instances")
	ownedLeft       = declare("owned_left")
	ownedEffects    = declare("owned_effects")
	ownedBroadcasts = declare("owned_broadcasts")
	expiredClaims   = declare("expired_claims")
)

// recoveryBatch is how many instances are given back in one transaction.
const recoveryBatch = 500

// Register writes the process's row. That it lives is told by its beat alone: no session of a pooled connection lasts
// as long as the process.
func (s *Store) Register(ctx context.Context, p store.Process) error {
	state := p.State
	if state == "" {
		state = "running"
	}
	var started *int64
	if !p.StartedAt.IsZero() {
		started = new(micros(p.StartedAt))
	}
	return s.single(ctx, "register process "+p.ID, func(q *pipe) {
		q.exec(processRegister, p.ID, p.Kind, p.Host, p.PID, doc(p.Metadata), started, state, s.offset.Load())
	}, func() bool { return true })
}

// Beat renews the row.
func (s *Store) Beat(ctx context.Context, id, state string) (store.Outcome, error) {
	n := 0
	err := s.single(ctx, "beat of process "+id, func(p *pipe) {
		p.counted(processBeat, &n, id, state, s.offset.Load())
	}, func() bool { return n > 0 })
	if err != nil || n == 1 {
		return store.Done, err
	}
	return store.Missing, nil
}

// Processes reads the registry.
func (s *Store) Processes(ctx context.Context) (list []store.Process, err error) {
	err = s.read(ctx, "list processes", func(q *pipe) {
		q.query(processList, func(rows pgx.Rows) error {
			var p store.Process
			var started, beat, stopped int64
			err := rows.Scan(&p.ID, &p.Kind, &p.Host, &p.PID, (*[]byte)(&p.Metadata), &started, &beat, &p.State, &stopped)
			p.StartedAt, p.BeatAt, p.StoppedAt = fromMicros(started), fromMicros(beat), fromMicros(stopped)
			list = append(list, p)
			return err
		})
	})
	return list, err
}

// Leave gives back everything that the process still owns, without an attempt, and marks it stopped.
func (s *Store) Leave(ctx context.Context, id string) (rec store.Recovered, err error) {
	err = s.bequeath(ctx, id, nil, &rec)
	return rec, err
}

// Recover gives back what processes own whose beat is older than stale, and claims whose lease has expired.
func (s *Store) Recover(ctx context.Context, self string, stale, retain time.Duration) (rec store.Recovered, err error) {
	var suspects []string
	err = s.read(ctx, "list processes", func(p *pipe) {
		p.query(processSuspects, func(rows pgx.Rows) error {
			var id string
			err := rows.Scan(&id)
			suspects = append(suspects, id)
			return err
		}, self, s.offset.Load(), stale.Microseconds())
	})
	if err != nil {
		return rec, err
	}
	for _, id := range suspects {
		if err := s.bequeath(ctx, id, &stale, &rec); err != nil {
			return rec, err
		}
	}
	for more := true; more; {
		var part store.Recovered
		err := s.transact(ctx, "recover expired claims", indexPatience, func(w *work) error {
			part = store.Recovered{}
			more, err = w.takeBackAll(false, &part, expiredClaims, s.offset.Load(), recoveryBatch)
			return err
		})
		if err != nil {
			return rec, err
		}
		add(&rec, &part)
	}
	n := 0
	err = s.single(ctx, "forget processes", func(p *pipe) {
		p.counted(processPrune, &n, s.offset.Load(), retain.Microseconds())
	}, func() bool { return n > 0 })
	return rec, err
}

func add(rec, part *store.Recovered) {
	rec.Messages += part.Messages
	rec.Effects += part.Effects
	rec.Broadcasts += part.Broadcasts
	rec.Dead = append(rec.Dead, part.Dead...)
	rec.Processes = append(rec.Processes, part.Processes...)
}

// bequeath gives back, in bounded transactions, what a process owns, and marks it stopped. Each transaction asks the
// process's row, under its lock, whether its beat is older than stale; nil is a process that leaves by itself.
func (s *Store) bequeath(ctx context.Context, id string, stale *time.Duration, rec *store.Recovered) error {
	for again, tries := true, 0; again && tries < 10; {
		var part store.Recovered
		busy := false
		err := s.transact(ctx, "give back the work of process "+id, indexPatience, func(w *work) (err error) {
			part, again, busy = store.Recovered{}, false, false
			again, busy, err = w.bequeath(id, stale, &part)
			return err
		})
		if err != nil {
			return err
		}
		add(rec, &part)
		if busy { // others are at work with what is left
			tries++
			sleep(ctx, busyRetry)
		}
	}
	return nil
}

// bequeath does a part of it; again says that there is more, and busy that nothing of it could be had now.
func (w *work) bequeath(id string, stale *time.Duration, rec *store.Recovered) (again, busy bool, err error) {
	there, beat := false, int64(0)
	w.query(processLock, func(rows pgx.Rows) error {
		there = true
		return rows.Scan(&beat)
	}, id)
	w.clock(&w.now)
	if err := w.sync(); err != nil {
		return false, false, err
	}
	if stale != nil && (!there || beat > w.now-stale.Microseconds()) {
		return false, false, nil
	}
	more, err := w.takeBackAll(stale == nil, rec, ownedInstances, id, recoveryBatch)
	if err != nil || more {
		return more, false, err
	}
	if err := w.save(); err != nil {
		return false, false, err
	}
	left := false
	w.query(ownedLeft, func(pgx.Rows) error {
		left = true
		return nil
	}, id)
	if err := w.sync(); err != nil || left {
		return left, left, err
	}
	uncount := 0
	if stale == nil {
		uncount = 1
	}
	w.wrote = true
	stopped := 0
	w.counted(ownedEffects, &rec.Effects, id, w.now, uncount)
	w.counted(ownedBroadcasts, &rec.Broadcasts, id)
	w.counted(processStop, &stopped, id, w.now)
	if err := w.sync(); err != nil {
		return false, false, err
	}
	if stopped == 1 && stale != nil {
		rec.Processes = append(rec.Processes, id)
	}
	return false, false, nil
}

// takeBackAll ends the leases of the instances that a statement locks, and says whether there may be more of them.
func (w *work) takeBackAll(graceful bool, rec *store.Recovered, which statement, args ...any) (more bool, err error) {
	var ids []string
	var heads []int64
	w.query(which, func(rows pgx.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids, heads = append(ids, id), append(heads, 0)
		return err
	}, args...)
	if err := w.sync(); err != nil || len(ids) == 0 {
		return false, err
	}
	w.lock(lockSkip, ids, nil) // they are ours by now
	w.heads(ids, heads)
	if err := w.sync(); err != nil {
		return false, err
	}
	for _, id := range ids {
		b := w.boxes[id]
		if b == nil || which == expiredClaims && (b.claimed == "" || b.lease > w.now) {
			continue // it was renewed, or finished, before it was ours
		}
		if err := w.takeBack(b, graceful, rec); err != nil {
			return false, err
		}
	}
	return len(ids) == recoveryBatch, nil
}
