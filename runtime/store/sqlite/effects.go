package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	effectsWaiting = declare("effects_waiting")
	effectsDue     = declare("effects_due")
	effectClaim    = declare("effect_claim")
	effectRenew    = declare("effect_renew")
	effectMine     = declare("effect_mine")
	effectAgain    = declare("effect_again")
	effectDone     = declare("effect_done")
	effectFail     = declare("effect_fail")
)

// ClaimEffects takes due effects, counting the attempt.
func (s *Store) ClaimEffects(ctx context.Context, owner string, names []string, limit int, lease time.Duration) (taken []store.Effect, err error) {
	if found, err := s.waiting(ctx, effectsWaiting, s.now(), list(names)); err != nil || !found {
		return nil, err
	}
	err = s.write(ctx, "claim effects", func(w *work) error {
		taken = nil
		err := w.all(effectsDue, func(r row) error {
			taken = append(taken, store.Effect{
				ID: r.text(0), Name: r.text(1), Arguments: r.doc(2), Done: r.text(3), Failed: r.text(4),
				MaxAttempts: int(r.int(5)), Meta: r.doc(6), Instance: r.text(7), Type: r.text(8), ActorID: r.text(9),
				Attempt: int(r.int(10)) + 1,
			})
			return nil
		}, w.now, list(names), limit)
		if err != nil {
			return err
		}
		for i := range taken {
			if _, err := w.exec(effectClaim, owner, w.now+lease.Microseconds(), taken[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// RenewEffects keeps effects that their owner works at.
func (s *Store) RenewEffects(ctx context.Context, owner string, ids []string, lease time.Duration) error {
	if len(ids) == 0 {
		return nil
	}
	return s.write(ctx, "renew effects", func(w *work) error {
		for _, id := range ids {
			if _, err := w.exec(effectRenew, w.now+lease.Microseconds(), id, owner); err != nil {
				return err
			}
		}
		return nil
	})
}

// FinishEffects records attempts' ends, each with its outcome message.
func (s *Store) FinishEffects(ctx context.Context, outcomes []*store.EffectOutcome) (sent []store.Message, err error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	err = s.write(ctx, "finish effects", func(w *work) error {
		sent = nil
		for _, o := range outcomes {
			m, err := w.finishEffect(o)
			if err != nil {
				return fmt.Errorf("effect %s: %w", o.ID, err)
			}
			if m != nil {
				sent = append(sent, *m)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return sent, nil
}

func (w *work) finishEffect(o *store.EffectOutcome) (*store.Message, error) {
	o.Outcome = store.Missing
	r, ok, err := w.first(effectMine, o.ID, o.Owner, o.Attempt)
	if err != nil || !ok {
		return nil, err
	}
	o.Outcome = store.Done
	instance := r.text(0)
	if o.Again {
		_, err := w.exec(effectAgain, w.now+max(o.Retry, 0).Microseconds(), o.Uncount, optional(o.ErrorKind), optional(o.ErrorText), o.ID)
		return nil, err
	}
	if o.Success {
		_, err = w.exec(effectDone, o.ID)
	} else {
		_, err = w.exec(effectFail, w.now, o.ErrorKind, o.ErrorText, o.ID)
	}
	if err != nil || o.Message == nil {
		return nil, err
	}
	if r, ok, err = w.first(enqueueFindID, instance); err != nil || !ok {
		return nil, err
	}
	e := store.Enqueue{Message: *o.Message} // no cap: an outcome is never dropped
	e.Message.Type, e.Message.ActorID = r.text(7), r.text(8)
	e.Message.Origin = store.FromEffect
	if err := w.deliver(&e, w.box(r), w.now); err != nil || e.Outcome != store.Done {
		return nil, err
	}
	return &e.Message, nil
}
