package sqlite

import (
	"fmt"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

var (
	commitState     = declare("commit_state")
	commitBroadcast = declare("commit_broadcast")
	commitPlain     = declare("commit_plain")
	broadcastMark   = declare("broadcast_mark")
	finish          = declare("finish")
	effectInsert    = declare("effect_insert")
	sendInsert      = declare("send_insert")
	reminderSet     = declare("reminder_set")
	reminderCancel  = declare("reminder_cancel")
	broadcastInsert = declare("broadcast_insert")
	broadcastFind   = declare("broadcast_find")
	broadcastAbsorb = declare("broadcast_absorb")
)

func (w *work) commit(c *store.Commit) error {
	c.Outcome, c.Turn, c.Due, c.Err = "", nil, time.Time{}, nil
	previous, ok, err := w.advance(c)
	if err != nil {
		return err
	}
	if !ok {
		c.Outcome = store.Fenced
		return nil
	}
	n, err := w.exec(finish, c.Status, c.Result, c.Rejection, w.now, c.Message, c.Fence.Instance)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("message %s is claimed but not live", c.Message)
	}
	if len(c.Effects)+len(c.Reminders)+len(c.Sends) > 0 {
		if err := w.stage(c); err != nil {
			return err
		}
	}
	if c.Broadcast != nil {
		if err := w.broadcast(c, previous); err != nil {
			return err
		}
	}
	c.Turn, c.Due, err = w.follow(c.Fence, c.Next, c.Yield)
	c.Outcome = store.Done
	return err
}

// advance moves the head past the claimed message, with what the turn changed of its instance, where the fence
// matches. It returns the revision of the broadcast before.
func (w *work) advance(c *store.Commit) (previous int64, ok bool, err error) {
	f := &c.Fence
	var n int64
	switch {
	case c.State != nil && c.Broadcast != nil:
		r, ok, err := w.first(commitBroadcast, c.Sequence, c.Message, w.now, c.Version, c.State, c.Sequence, c.Message,
			f.Instance, f.Owner, f.Token, f.Generation, w.now, c.Sequence, c.Message)
		if ok {
			previous = r.int(0)
		}
		return previous, ok, err
	case c.State != nil:
		n, err = w.exec(commitState, c.Sequence, c.Message, w.now, c.Version, c.State,
			f.Instance, f.Owner, f.Token, f.Generation, w.now, c.Sequence, c.Message)
	default:
		n, err = w.exec(commitPlain, w.now,
			f.Instance, f.Owner, f.Token, f.Generation, w.now, c.Sequence, c.Message)
	}
	if err != nil || n == 0 {
		return 0, false, err
	}
	if c.Broadcast != nil {
		r, ok, err := w.first(broadcastMark, c.Sequence, c.Message, f.Instance)
		if err != nil || !ok {
			return 0, false, err
		}
		previous = r.int(0)
	}
	return previous, true, nil
}

// stage writes what the turn asked for.
func (w *work) stage(c *store.Commit) error {
	for i := range c.Effects {
		e := &c.Effects[i]
		if _, err := w.exec(effectInsert, e.ID, c.Fence.Instance, c.Message, e.Name, e.Arguments, optional(e.Done),
			optional(e.Failed), e.MaxAttempts, w.now, e.Meta); err != nil {
			return fmt.Errorf("effect %s: %w", e.Name, err)
		}
	}
	for i := range c.Reminders {
		if err := w.remind(c.Fence.Instance, &c.Reminders[i]); err != nil {
			return fmt.Errorf("reminder %s: %w", c.Reminders[i].Operation, err)
		}
	}
	for i := range c.Sends {
		s := &c.Sends[i]
		m := &s.Message
		available := max(micros(s.When.From(fromMicros(w.now))), w.now)
		if _, err := w.exec(sendInsert, s.ID, c.Fence.Instance, c.Message, s.To.Type, s.To.ID, m.Operation, m.Arguments,
			optional(m.IdempotencyKey), optional(m.Fingerprint), m.MaxAttempts, available, w.now, m.Meta); err != nil {
			return fmt.Errorf("send %s: %w", m.Operation, err)
		}
	}
	return nil
}

func (w *work) remind(instance string, r *store.Reminder) error {
	if r.Cancel {
		_, err := w.exec(reminderCancel, instance, r.Operation, r.Key)
		return err
	}
	id := r.ID
	if id == "" {
		var err error
		if id, err = newID(); err != nil {
			return err
		}
	}
	at := micros(r.When.From(fromMicros(w.now)))
	policy := string(r.CatchUp)
	if policy == "" {
		policy = "latest"
	}
	_, err := w.exec(reminderSet, id, instance, r.Operation, r.Key, r.Arguments, r.Interval, policy, at, at)
	return err
}

// broadcast writes the commit's row, already claimed by its own process, or lets it absorb the actor's pending one.
func (w *work) broadcast(c *store.Commit, previous int64) error {
	b := c.Broadcast
	restore(w, b)
	b.Instance, b.Revision, b.Previous, b.Message = c.Fence.Instance, c.Sequence, previous, c.Message
	names, shared, err := store.EncodeBroadcast(b)
	if err != nil {
		return err
	}
	n, err := w.exec(broadcastInsert, b.Instance, b.ID, b.Actor.Type, b.Actor.ID, b.Revision, b.Previous, b.Message, names, shared,
		c.Fence.Owner, w.now)
	if err != nil || n == 1 {
		return err
	}
	r, ok, err := w.first(broadcastFind, b.Instance)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("broadcast %s is refused, and there is none of its actor", b.ID)
	}
	older := store.Broadcast{Previous: r.int(1)}
	if store.DecodeBroadcast(r.text(2), r.text(3), &older) {
		store.AbsorbBroadcast(b, &older)
	}
	if names, shared, err = store.EncodeBroadcast(b); err != nil {
		return err
	}
	_, err = w.exec(broadcastAbsorb, b.ID, b.Revision, b.Previous, b.Message, names, shared, c.Fence.Owner, w.now, b.Instance)
	return err
}
