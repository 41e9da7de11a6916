package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	effectsClaim = declare("effects_claim")
	effectsRenew = declare("effects_renew")
	effectsOf    = declare("effects_of")
	effectsMine  = declare("effects_mine")
	effectAgain  = declare("effect_again")
	effectDone   = declare("effect_done")
	effectFail   = declare("effect_fail")
)

// ClaimEffects takes due effects, counting the attempt.
func (s *Store) ClaimEffects(ctx context.Context, owner string, names []string, limit int, lease time.Duration) (taken []store.Effect, err error) {
	err = s.single(ctx, "claim effects", func(p *pipe) {
		taken = nil
		p.query(effectsClaim, func(rows pgx.Rows) error {
			var e store.Effect
			err := rows.Scan(&e.ID, &e.Name, (*[]byte)(&e.Arguments), &e.Done, &e.Failed, &e.MaxAttempts, (*[]byte)(&e.Meta), &e.Instance,
				&e.Attempt, &e.Type, &e.ActorID)
			taken = append(taken, e)
			return err
		}, owner, s.offset.Load(), list(names), limit, lease.Microseconds())
	}, func() bool { return len(taken) > 0 })
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
	return s.single(ctx, "renew effects", func(p *pipe) {
		p.exec(effectsRenew, ids, owner, s.offset.Load(), lease.Microseconds())
	}, func() bool { return true })
}

// FinishEffects records attempts' ends, each with its outcome message.
func (s *Store) FinishEffects(ctx context.Context, outcomes []*store.EffectOutcome) (sent []store.Message, err error) {
	if len(outcomes) == 0 {
		return nil, nil
	}
	err = s.transact(ctx, "finish effects", indexPatience, func(w *work) error {
		sent, err = w.finishEffects(outcomes)
		return err
	})
	if err != nil {
		return nil, err
	}
	return sent, nil
}

type effectState struct {
	instance, owner string
	attempt         int
}

func (w *work) finishEffects(outcomes []*store.EffectOutcome) (sent []store.Message, err error) {
	var ids, instances []string
	var es []*store.Enqueue
	for _, o := range outcomes {
		ids = append(ids, o.ID)
		if o.Message != nil {
			es = append(es, &store.Enqueue{Message: store.Message{ID: o.Message.ID}})
		}
	}
	w.query(effectsOf, func(rows pgx.Rows) error {
		var id string
		err := rows.Scan(&id)
		instances = append(instances, id)
		return err
	}, ids)
	if err := w.sync(); err != nil {
		return nil, err
	}
	states := map[string]effectState{}
	w.lock(lockWait, instances, nil) // before the effects: Destroy goes the same way
	w.query(effectsMine, func(rows pgx.Rows) error {
		var id string
		var x effectState
		err := rows.Scan(&id, &x.instance, &x.owner, &x.attempt)
		states[id] = x
		return err
	}, ids)
	w.known(es)
	if err := w.sync(); err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		o.Outcome = store.Missing
		x, ok := states[o.ID]
		if !ok || x.owner != o.Owner || x.attempt != o.Attempt {
			continue
		}
		delete(states, o.ID)
		m, err := w.finishEffect(o, w.boxes[x.instance])
		if err != nil {
			return nil, fmt.Errorf("effect %s: %w", o.ID, err)
		}
		if m != nil {
			sent = append(sent, *m)
		}
	}
	if len(w.performed) > 0 {
		w.exec(effectDone, w.performed)
	}
	return sent, nil
}

func (w *work) finishEffect(o *store.EffectOutcome, b *box) (*store.Message, error) {
	o.Outcome = store.Done
	switch {
	case o.Again:
		uncount := 0
		if o.Uncount {
			uncount = 1
		}
		w.exec(effectAgain, o.ID, w.now+max(o.Retry, 0).Microseconds(), uncount, optional(o.ErrorKind), optional(o.ErrorText))
		return nil, nil
	case o.Success:
		w.performed = append(w.performed, o.ID)
	default:
		w.exec(effectFail, o.ID, w.now, o.ErrorKind, o.ErrorText)
	}
	if o.Message == nil || b == nil {
		return nil, nil
	}
	e := store.Enqueue{Message: *o.Message} // no cap: an outcome is never dropped
	e.Message.Type, e.Message.ActorID, e.Message.Origin = b.key.Type, b.key.ID, store.FromEffect
	if _, err := w.deliver(&e, b, w.now); err != nil || e.Outcome != store.Done {
		return nil, err
	}
	return &e.Message, nil
}
