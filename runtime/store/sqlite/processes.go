package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	processRegister = declare("process_register")
	processBeat     = declare("process_beat")
	processStop     = declare("process_stop")
	processList     = declare("process_list")
	processSuspects = declare("process_suspects")
	processStill    = declare("process_still")
	processPrune    = declare("process_prune")
	processOld      = declare("process_old")

	ownedInstances              = declare("owned_instances")
	ownedEffects                = declare("owned_effects")
	ownedEffectsUncounted       = declare("owned_effects_uncounted")
	ownedBroadcasts             = declare("owned_broadcasts")
	expiredClaims               = declare("expired_claims")
	expiredClaim                = declare("expired_claim")
	recoveryBatch         int64 = 500 // instances given back in one transaction
)

// Register takes the process's lock and then writes its row: whoever sees the row can ask the lock.
func (s *Store) Register(ctx context.Context, p store.Process) error {
	if err := checkProcess(p.ID); err != nil {
		return err
	}
	s.locksMu.Lock()
	defer s.locksMu.Unlock()
	l, locked := s.locks[p.ID]
	if !locked {
		var err error
		if l, err = s.lock(p.ID); err == nil {
			locked = true
		} else if !errors.Is(err, errors.ErrUnsupported) {
			return fmt.Errorf("lock process %s: %w", p.ID, err)
		}
	}
	err := s.write(ctx, "register process "+p.ID, func(w *work) error {
		state := p.State
		if state == "" {
			state = "running"
		}
		started := w.now
		if !p.StartedAt.IsZero() {
			started = micros(p.StartedAt)
		}
		_, err := w.exec(processRegister, p.ID, p.Kind, p.Host, p.PID, p.Metadata, locked, started, w.now, state)
		return err
	})
	switch {
	case !locked:
	case err == nil:
		s.locks[p.ID] = l
	case s.locks[p.ID] == nil && !errors.Is(err, store.ErrUnclear):
		l.release(true)
	}
	return err
}

// Beat renews the row.
func (s *Store) Beat(ctx context.Context, id, state string) (o store.Outcome, err error) {
	err = s.write(ctx, "beat of process "+id, func(w *work) error {
		n, err := w.exec(processBeat, w.now, state, id)
		o = store.Missing
		if n == 1 {
			o = store.Done
		}
		return err
	})
	return o, err
}

// Leave gives back everything that the process still owns, without an attempt, and marks it stopped.
func (s *Store) Leave(ctx context.Context, id string) (rec store.Recovered, err error) {
	if err := s.bequeath(ctx, id, true, nil, &rec); err != nil {
		return rec, err
	}
	s.locksMu.Lock()
	defer s.locksMu.Unlock()
	if l := s.locks[id]; l != nil {
		delete(s.locks, id)
		l.release(true)
	}
	return rec, nil
}

// Processes reads the registry.
func (s *Store) Processes(ctx context.Context) (list []store.Process, err error) {
	err = s.read(ctx, "list processes", func(q session) error {
		return q.all(processList, func(r row) error {
			list = append(list, store.Process{
				ID: r.text(0), Kind: r.text(1), Host: r.text(2), PID: int(r.int(3)), Metadata: r.doc(4),
				StartedAt: r.time(5), BeatAt: r.time(6), State: r.text(7), StoppedAt: r.time(8),
			})
			return nil
		})
	})
	return list, err
}

type suspect struct {
	id     string
	locked bool
	beat   int64
}

// Recover gives back what dead processes own, and claims whose lease has expired.
func (s *Store) Recover(ctx context.Context, self string, stale, retain time.Duration) (rec store.Recovered, err error) {
	var suspects []suspect
	err = s.read(ctx, "list processes", func(q session) error {
		return q.all(processSuspects, func(r row) error {
			suspects = append(suspects, suspect{r.text(0), r.int(1) != 0, r.int(2)})
			return nil
		}, self)
	})
	if err != nil {
		return rec, err
	}
	for _, p := range suspects {
		if err := s.recoverProcess(ctx, p, stale, &rec); err != nil {
			return rec, err
		}
	}
	more, err := s.waiting(ctx, expiredClaims, s.now(), 1)
	if err != nil {
		return rec, err
	}
	for more {
		err := s.write(ctx, "recover expired claims", func(w *work) error {
			more, err = w.expired(&rec, expiredClaims, w.now, recoveryBatch)
			return err
		})
		if err != nil {
			return rec, err
		}
	}
	if old, err := s.waiting(ctx, processOld, s.now()-retain.Microseconds()); err != nil || !old {
		return rec, err
	}
	return rec, s.write(ctx, "forget processes", func(w *work) error {
		_, err := w.exec(processPrune, w.now-retain.Microseconds())
		return err
	})
}

// recoverProcess gives back what a process owned, if it is dead. Its lock, if it had one, is held meanwhile, and its
// file goes with the row's end.
func (s *Store) recoverProcess(ctx context.Context, p suspect, stale time.Duration, rec *store.Recovered) error {
	verdict := unknown
	var l processLock
	if p.locked {
		verdict, l = s.probe(p.id)
	}
	switch verdict {
	case alive:
		return nil
	case unknown:
		if p.beat > s.now()-stale.Microseconds() {
			return nil
		}
	}
	before := len(rec.Processes)
	err := s.bequeath(ctx, p.id, false, func(locked bool, beat int64) bool {
		return verdict == dead && locked || verdict == unknown && beat <= s.now()-stale.Microseconds()
	}, rec)
	if l != nil {
		l.release(err == nil && len(rec.Processes) > before)
	}
	return err
}

// bequeath gives back, in bounded transactions, what a process owns, and marks it stopped. Every transaction asks
// still, if not nil, of the row as it is then.
func (s *Store) bequeath(ctx context.Context, id string, graceful bool, still func(locked bool, beat int64) bool, rec *store.Recovered) error {
	for more := true; more; {
		var part store.Recovered
		err := s.write(ctx, "give back the work of process "+id, func(w *work) (err error) {
			part, more = store.Recovered{}, false
			if still != nil {
				r, ok, err := w.first(processStill, id)
				if err != nil || !ok || !still(r.int(0) != 0, r.int(1)) {
					return err
				}
			}
			more, err = w.bequeath(id, graceful, &part)
			return err
		})
		if err != nil {
			return err
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
func (w *work) bequeath(id string, graceful bool, rec *store.Recovered) (more bool, err error) {
	var instances []string
	err = w.all(ownedInstances, func(r row) error {
		instances = append(instances, r.text(0))
		return nil
	}, id, recoveryBatch)
	if err != nil {
		return false, err
	}
	for _, instance := range instances {
		if err := w.takeBack(instance, graceful, rec); err != nil {
			return false, err
		}
	}
	if int64(len(instances)) == recoveryBatch {
		return true, nil
	}
	effects := ownedEffects
	if graceful {
		effects = ownedEffectsUncounted
	}
	n, err := w.exec(effects, w.now, id)
	if err != nil {
		return false, err
	}
	rec.Effects += int(n)
	if n, err = w.exec(ownedBroadcasts, id); err != nil {
		return false, err
	}
	rec.Broadcasts += int(n)
	n, err = w.exec(processStop, w.now, id)
	if n == 1 && !graceful {
		rec.Processes = append(rec.Processes, id)
	}
	return false, err
}

// takeBack ends an instance's lease, whoever has it, and returns its claimed message to ready, or makes it a dead
// letter where it has no attempt left.
func (w *work) takeBack(instance string, graceful bool, rec *store.Recovered) error {
	if _, err := w.exec(disown, instance); err != nil {
		return err
	}
	h, ok, err := w.unclaim(instance, graceful)
	if err != nil || !ok {
		return err
	}
	rec.Messages++
	if !graceful {
		var dead []store.DeadLetter
		if h, ok, dead, err = w.bury(h); err != nil {
			return err
		}
		rec.Dead = append(rec.Dead, dead...)
	}
	if !ok {
		return nil
	}
	return w.wait(&h)
}

// expired takes back claims whose lease is over, and says whether there may be more. What is read and what is written
// are one transaction, so nothing that was renewed or committed in between is touched.
func (w *work) expired(rec *store.Recovered, which statement, args ...any) (more bool, err error) {
	var instances []string
	err = w.all(which, func(r row) error {
		instances = append(instances, r.text(0))
		return nil
	}, args...)
	if err != nil {
		return false, err
	}
	for _, instance := range instances {
		if err := w.takeBack(instance, false, rec); err != nil {
			return false, err
		}
	}
	return int64(len(instances)) == recoveryBatch, nil
}

// recoverExpired does so for the one instance that a scan names: whoever waits for that actor need not wait for the
// next recovery as well.
func (w *work) recoverExpired(s *store.Scan) error {
	var rec store.Recovered
	_, err := w.expired(&rec, expiredClaim, w.now, s.Only)
	s.Dead = append(s.Dead, rec.Dead...)
	return err
}
