package mysql

import (
	"slices"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// fenced returns the instance of a fence, or says why there is none.
func (w *work) fenced(f *store.Fence) (*instance, store.Outcome) {
	i := w.instances[f.Instance]
	switch {
	case i == nil && w.elsewhere[f.Instance]:
		return nil, store.Busy
	case i == nil || !i.holds(f, w.now):
		return nil, store.Fenced
	}
	return i, store.Done
}

// turn is fenced for one that has claimed a message.
func (w *work) turn(f *store.Fence, message string, sequence int64) (*instance, store.Outcome) {
	i, o := w.fenced(f)
	if i != nil && (i.claimed != message || i.head != sequence) {
		return nil, store.Fenced
	}
	return i, o
}

func (w *work) commit(c *store.Commit) error {
	i, o := w.turn(&c.Fence, c.Message, c.Sequence)
	if i == nil {
		c.Outcome = o
		return nil
	}
	w.end(c.Message, i.id, c.Status, c.Result, c.Rejection)
	i.head++
	i.used = w.now
	w.keep(i)
	if c.State != nil {
		i.revision, i.message, i.version = c.Sequence, c.Message, int64(c.Version)
		i.state, i.stated = slices.Clone(c.State), true
	}
	w.stage(c)
	if c.Broadcast != nil {
		i.previous, i.broadcast, i.broadcastMessage = i.broadcast, c.Sequence, c.Message
		if err := w.broadcast(c, i); err != nil {
			return err
		}
	}
	var err error
	c.Turn, c.Due, err = w.follow(i, c.Next, c.Yield)
	c.Outcome = store.Done
	return err
}

// stage keeps what the turn asked for.
func (w *work) stage(c *store.Commit) {
	for n := range c.Effects {
		e := &c.Effects[n]
		w.effects = append(w.effects, e.ID, c.Fence.Instance, c.Message, e.Name, e.Arguments, optional(e.Done), optional(e.Failed),
			e.MaxAttempts, w.now, e.Meta)
	}
	for n := range c.Reminders {
		w.remind(c.Fence.Instance, &c.Reminders[n])
	}
	for n := range c.Sends {
		s := &c.Sends[n]
		m := &s.Message
		available := max(micros(s.When.From(fromMicros(w.now))), w.now)
		w.sends = append(w.sends, s.ID, c.Fence.Instance, c.Message, s.To.Type, s.To.ID, m.Operation, m.Arguments,
			optional(m.IdempotencyKey), optional(m.Fingerprint), m.MaxAttempts, available, w.now, m.Meta)
	}
}

func (w *work) remind(instance string, r *store.Reminder) {
	name := reminderName{instance, r.Operation, r.Key}
	if r.Cancel {
		w.reminders[name] = nil
		return
	}
	at := micros(r.When.From(fromMicros(w.now)))
	policy := string(r.CatchUp)
	if policy == "" {
		policy = "latest"
	}
	w.reminders[name] = []any{r.Arguments, int64(r.Interval / time.Microsecond), policy, at, at}
}

// broadcast is an actor's pending row.
type broadcast struct {
	store.Broadcast
	owner   string
	changed bool
}

var broadcastsPending = declare("broadcasts_pending")

// loadPending reads the pending rows of instances, but for those that were handed on.
func (w *work) loadPending(instances, delivered []string) error {
	return w.each(broadcastsPending, 1, listAny(instances), func(r row) error {
		if slices.Contains(delivered, r.text(1)) {
			return nil
		}
		b := &broadcast{}
		b.Instance, b.Previous = r.text(0), r.int(2)
		if store.DecodeBroadcast(r.text(3), r.text(4), &b.Broadcast) {
			w.pending[b.Instance] = b
		}
		return nil
	})
}

// broadcast makes the commit's row, already claimed by its own process, which stands for the actor's pending one too.
func (w *work) broadcast(c *store.Commit, i *instance) error {
	b := c.Broadcast
	restore(w, b)
	b.Instance, b.Revision, b.Previous, b.Message = i.id, c.Sequence, i.previous, c.Message
	older := w.pending[i.id]
	if older != nil {
		store.AbsorbBroadcast(b, &older.Broadcast)
	} else {
		older = &broadcast{}
		w.pending[i.id] = older
	}
	older.Broadcast, older.owner = *b, c.Fence.Owner
	if !older.changed {
		older.changed = true
		w.broadcasts = append(w.broadcasts, older)
	}
	_, _, err := store.EncodeBroadcast(b)
	return err
}
