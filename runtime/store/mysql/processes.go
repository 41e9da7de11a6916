package mysql

import (
	"context"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	processRegister = declare("process_register")
	processLock     = declare("process_lock")
	processBeat     = declare("process_beat")
	processStop     = declare("process_stop")
	processList     = declare("process_list")
	processSuspects = declare("process_suspects")
	processOld      = declare("process_old")
	processForget   = declare("process_forget")

	ownedInstances  = declare("owned_instances")
	expiredClaims   = declare("expired_claims")
	ownedEffects    = declare("owned_effects")
	effectsFree     = declare("effects_free")
	ownedBroadcasts = declare("owned_broadcasts")
	broadcastsFree  = declare("broadcasts_free")
)

// recoveryBatch is how many instances are given back in one transaction.
const recoveryBatch = 500

// Register writes the process's row. There is no lock that proves its life: its beat does.
func (s *Store) Register(ctx context.Context, p store.Process) error {
	return s.write(ctx, "register process "+p.ID, func(w *work) error {
		if err := w.tick(nil); err != nil {
			return err
		}
		state := p.State
		if state == "" {
			state = "running"
		}
		started := w.now
		if !p.StartedAt.IsZero() {
			started = micros(p.StartedAt)
		}
		_, err := w.exec(processRegister, p.ID, p.Kind, p.Host, p.PID, p.Metadata, started, w.now, state)
		return err
	})
}

// Beat renews the row.
func (s *Store) Beat(ctx context.Context, id, state string) (o store.Outcome, err error) {
	err = s.write(ctx, "beat of process "+id, func(w *work) error {
		o = store.Missing
		r, ok, err := w.first(processLock, id)
		if err != nil || !ok || r.text(1) == "stopped" {
			return err
		}
		if err := w.tick(nil); err != nil {
			return err
		}
		o = store.Done
		_, err = w.exec(processBeat, w.now, state, id)
		return err
	})
	return o, err
}

// Leave gives back everything that the process still owns, without an attempt, and marks it stopped.
func (s *Store) Leave(ctx context.Context, id string) (rec store.Recovered, err error) {
	err = s.bequeath(ctx, id, true, 0, &rec)
	return rec, err
}

// Processes reads the registry.
func (s *Store) Processes(ctx context.Context) ([]store.Process, error) {
	return read(ctx, s, "list processes", func(q *session) (list []store.Process, err error) {
		err = q.all(processList, func(r row) error {
			list = append(list, store.Process{
				ID: r.text(0), Kind: r.text(1), Host: r.text(2), PID: int(r.int(3)), Metadata: r.doc(4),
				StartedAt: r.time(5), BeatAt: r.time(6), State: r.text(7), StoppedAt: r.time(8),
			})
			return nil
		})
		return list, err
	})
}

// ids reads the first column of a statement.
func (s *Store) ids(ctx context.Context, st statement, args ...any) ([]string, error) {
	return read(ctx, s, "look for what to recover", func(q *session) (ids []string, err error) {
		err = q.all(st, func(r row) error {
			ids = append(ids, r.text(0))
			return nil
		}, args...)
		return ids, err
	})
}

// Recover gives back what dead processes own, and claims whose lease has expired.
func (s *Store) Recover(ctx context.Context, self string, stale, retain time.Duration) (rec store.Recovered, err error) {
	suspects, err := s.ids(ctx, processSuspects, self, s.offset.Load()-stale.Microseconds())
	if err != nil {
		return rec, err
	}
	for _, id := range suspects {
		if err := s.bequeath(ctx, id, false, stale, &rec); err != nil {
			return rec, err
		}
	}
	for more := true; more; {
		if more, err = s.recoverExpired(ctx, &rec); err != nil {
			return rec, err
		}
	}
	old, err := s.ids(ctx, processOld, s.offset.Load()-retain.Microseconds())
	if err != nil || len(old) == 0 {
		return rec, err
	}
	return rec, s.write(ctx, "forget processes", func(w *work) error {
		for _, id := range old {
			if _, err := w.exec(processForget, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// recoverExpired takes back a batch of claims whose lease is over, and says whether there may be more. Whether it is
// over is asked again under the lock, so nothing that was renewed or committed in between is touched.
func (s *Store) recoverExpired(ctx context.Context, rec *store.Recovered) (more bool, err error) {
	ids, err := s.ids(ctx, expiredClaims, s.offset.Load(), recoveryBatch)
	if err != nil || len(ids) == 0 {
		return false, err
	}
	var part store.Recovered
	err = s.write(ctx, "recover expired claims", func(w *work) error {
		part = store.Recovered{}
		if err := w.hold(ids); err != nil {
			return err
		}
		for _, i := range w.among(ids) {
			if i.claimed != "" && i.lease <= w.now {
				if err := w.takeBack(i, false, &part); err != nil {
					return err
				}
			}
		}
		return w.save()
	})
	if err != nil {
		return false, err
	}
	rec.Messages += part.Messages
	rec.Dead = append(rec.Dead, part.Dead...)
	return len(ids) == recoveryBatch && part.Messages > 0, nil
}

// hold locks instances, without waiting, and reads what is claimed of them.
func (w *work) hold(ids []string) error {
	if err := w.lock(ids); err != nil {
		return err
	}
	if err := w.tick(nil); err != nil {
		return err
	}
	var messages []string
	for _, i := range w.among(ids) {
		messages = append(messages, i.claimed)
	}
	return w.load(messages)
}

// among are the locked ones of ids.
func (w *work) among(ids []string) (list []*instance) {
	for _, id := range ids {
		if i := w.instances[id]; i != nil {
			list = append(list, i)
		}
	}
	return list
}

// estate is what a bequest has come to.
type estate struct {
	graceful bool
	stale    time.Duration
	after    string // the last instance of the batch before
	skipped  bool   // an instance was in use; it is given back another time
}

// bequeath gives back, in bounded transactions, what a process owns, and marks it stopped. Unless it is graceful every
// transaction asks again whether the beat is old.
func (s *Store) bequeath(ctx context.Context, id string, graceful bool, stale time.Duration, rec *store.Recovered) error {
	e := estate{graceful: graceful, stale: stale}
	for more := true; more; {
		ids, err := s.ids(ctx, ownedInstances, id, e.after, recoveryBatch)
		if err != nil {
			return err
		}
		var part store.Recovered
		err = s.write(ctx, "give back the work of process "+id, func(w *work) (err error) {
			part = store.Recovered{}
			more, err = w.bequeath(id, ids, &e, &part)
			return err
		})
		if err != nil {
			return err
		}
		if len(ids) > 0 {
			e.after = ids[len(ids)-1]
		}
		rec.Messages += part.Messages
		rec.Effects += part.Effects
		rec.Broadcasts += part.Broadcasts
		rec.Dead = append(rec.Dead, part.Dead...)
		rec.Processes = append(rec.Processes, part.Processes...)
	}
	return nil
}

// bequeath does a part of it, and says whether there is more.
func (w *work) bequeath(id string, ids []string, e *estate, rec *store.Recovered) (more bool, err error) {
	r, known, err := w.first(processLock, id)
	if err != nil {
		return false, err
	}
	if err := w.hold(ids); err != nil {
		return false, err
	}
	if !e.graceful && (!known || r.text(1) == "stopped" || r.int(0) > w.now-e.stale.Microseconds()) {
		return false, nil
	}
	held := w.among(ids)
	for _, i := range held {
		if i.owner == id {
			if err := w.takeBack(i, e.graceful, rec); err != nil {
				return false, err
			}
		}
	}
	e.skipped = e.skipped || len(w.elsewhere) > 0
	if err := w.save(); err != nil {
		return false, err
	}
	if len(ids) == recoveryBatch {
		return true, nil
	}
	if err := w.freeOutboxes(id, e.graceful, rec); err != nil {
		return false, err
	}
	if e.skipped && !e.graceful {
		return false, nil // the next recovery finishes it
	}
	n, err := w.exec(processStop, w.now, id)
	if n == 1 && !e.graceful {
		rec.Processes = append(rec.Processes, id)
	}
	return false, err
}

// freeOutboxes gives back effects and broadcasts.
func (w *work) freeOutboxes(id string, graceful bool, rec *store.Recovered) error {
	var effects, broadcasts []any
	err := w.all(ownedEffects, func(r row) error {
		effects = append(effects, r.text(0))
		return nil
	}, id)
	if err != nil {
		return err
	}
	if err := w.change(effectsFree, []any{w.now, graceful}, effects); err != nil {
		return err
	}
	err = w.all(ownedBroadcasts, func(r row) error {
		broadcasts = append(broadcasts, r.text(0))
		return nil
	}, id)
	if err != nil {
		return err
	}
	rec.Effects += len(effects)
	rec.Broadcasts += len(broadcasts)
	return w.change(broadcastsFree, nil, broadcasts)
}

// takeBack ends an instance's lease, whoever has it, and returns its claimed message to ready, or makes it a dead
// letter where it has no attempt left.
func (w *work) takeBack(i *instance, graceful bool, rec *store.Recovered) error {
	i.disown()
	w.keep(i)
	m, err := w.unclaim(i, graceful)
	if err != nil || m == nil {
		return err
	}
	rec.Messages++
	if !graceful {
		var dead []store.DeadLetter
		m, dead, err = w.bury(i, m)
		rec.Dead = append(rec.Dead, dead...)
		if err != nil {
			return err
		}
	}
	if m != nil {
		w.wait(i, m)
	}
	return nil
}
