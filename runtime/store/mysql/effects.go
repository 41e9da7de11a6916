package mysql

import (
	"context"
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	effectsWaiting = declare("effects_waiting")
	effectsTake    = declare("effects_take")
	effectsClaim   = declare("effects_claim")
	effectsRenew   = declare("effects_renew")
	effectsOf      = declare("effects_of")
	effectsLock    = declare("effects_lock")
	effectAgain    = declare("effect_again")
	effectDone     = declare("effect_done")
	effectFail     = declare("effect_fail")
	addressesRead  = declare("addresses")
)

// ClaimEffects takes due effects, counting the attempt. One that another executor is taking is passed over.
func (s *Store) ClaimEffects(ctx context.Context, owner string, names []string, limit int, lease time.Duration) (taken []store.Effect, err error) {
	if found, err := s.waiting(ctx, effectsWaiting, len(list(names)), append([]any{s.offset.Load()}, list(names)...)); err != nil || !found {
		return nil, err
	}
	err = s.write(ctx, "claim effects", func(w *work) error {
		taken = nil
		if err := w.tick(nil); err != nil {
			return err
		}
		args := append(append([]any{w.now}, list(names)...), limit)
		err := w.allText(s.texts.text(effectsTake, len(list(names))), func(r row) error {
			taken = append(taken, store.Effect{
				ID: r.text(0), Name: r.text(1), Arguments: r.doc(2), Done: r.text(3), Failed: r.text(4),
				MaxAttempts: int(r.int(5)), Meta: r.doc(6), Instance: r.text(7), Attempt: int(r.int(8)) + 1,
			})
			return nil
		}, args)
		if err != nil {
			return err
		}
		return w.own(taken, owner, w.now+lease.Microseconds())
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// own makes the effects the owner's and fills in whose they are.
func (w *work) own(taken []store.Effect, owner string, until int64) error {
	ids, instances := make([]any, len(taken)), make([]any, len(taken))
	for n := range taken {
		ids[n], instances[n] = taken[n].ID, taken[n].Instance
	}
	addresses := map[string]store.Key{}
	err := w.each(addressesRead, 1, instances, func(r row) error {
		addresses[r.text(0)] = store.Key{Type: r.text(1), ID: r.text(2)}
		return nil
	})
	if err != nil {
		return err
	}
	for n := range taken {
		k := addresses[taken[n].Instance]
		taken[n].Type, taken[n].ActorID = k.Type, k.ID
	}
	return w.change(effectsClaim, []any{owner, until}, ids)
}

// change runs an update that takes some values and then a list of keys, in pieces.
func (w *work) change(st statement, values, keys []any) error {
	for len(keys) > 0 {
		n := min(len(keys), maxRows)
		if _, err := w.execText(w.store.texts.text(st, n), append(append([]any{}, values...), keys[:n]...)); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

// RenewEffects keeps effects that their owner works at.
func (s *Store) RenewEffects(ctx context.Context, owner string, ids []string, lease time.Duration) error {
	if len(ids) == 0 {
		return nil
	}
	return s.write(ctx, "renew effects", func(w *work) error {
		return w.change(effectsRenew, []any{s.offset.Load() + lease.Microseconds(), owner}, listAny(ids))
	})
}

// effect is a row that is about to end.
type effect struct {
	instance, owner, state string
	attempt                int64
}

// FinishEffects records attempts' ends, each with its outcome message. It waits for actors that others are writing.
func (s *Store) FinishEffects(ctx context.Context, outcomes []*store.EffectOutcome) (sent []store.Message, err error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	err = s.write(ctx, "finish effects", func(w *work) error {
		sent = nil
		effects, err := w.lockEffects(outcomes)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			m, err := w.finishEffect(o, effects)
			if err != nil {
				return fmt.Errorf("effect %s: %w", o.ID, err)
			}
			if m != nil {
				sent = append(sent, *m)
			}
		}
		if _, err := w.many(effectDone, 1, w.performed); err != nil {
			return err
		}
		return w.save()
	})
	if err != nil {
		return nil, err
	}
	return sent, nil
}

// lockEffects takes the instances that hear of the effects, and then the effects, as everybody does who takes both.
func (w *work) lockEffects(outcomes []*store.EffectOutcome) (map[string]effect, error) {
	var ids, hearing []any
	var messages []string
	for _, o := range outcomes {
		ids = append(ids, o.ID)
		if o.Message != nil && !o.Again {
			hearing = append(hearing, o.ID)
			messages = append(messages, o.Message.ID)
		}
	}
	var instances []string
	err := w.each(effectsOf, 1, hearing, func(r row) error {
		instances = append(instances, r.text(0))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := w.lockWaiting(instances); err != nil {
		return nil, err
	}
	effects := map[string]effect{}
	err = w.each(effectsLock, 1, ids, func(r row) error {
		effects[r.text(0)] = effect{r.text(1), r.text(2), r.text(4), r.int(3)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return effects, w.tick(messages)
}

func (w *work) finishEffect(o *store.EffectOutcome, effects map[string]effect) (*store.Message, error) {
	o.Outcome = store.Missing
	x, ok := effects[o.ID]
	if !ok || x.owner != o.Owner || x.attempt != int64(o.Attempt) || x.state != "pending" {
		return nil, nil
	}
	delete(effects, o.ID)
	o.Outcome = store.Done
	var err error
	switch {
	case o.Again:
		_, err = w.exec(effectAgain, w.now+max(o.Retry, 0).Microseconds(), o.Uncount, optional(o.ErrorKind), optional(o.ErrorText), o.ID)
		return nil, err
	case o.Success:
		w.performed = append(w.performed, o.ID)
	default:
		_, err = w.exec(effectFail, w.now, o.ErrorKind, o.ErrorText, o.ID)
	}
	i := w.instances[x.instance]
	if err != nil || o.Message == nil || i == nil {
		return nil, err
	}
	e := store.Enqueue{Message: *o.Message} // no cap: an outcome is never dropped
	e.Message.Type, e.Message.ActorID, e.Message.Origin = i.Type, i.ID, store.FromEffect
	if err := w.deliver(&e, i, w.now); err != nil || e.Outcome != store.Done {
		return nil, err
	}
	return &e.Message, nil
}
