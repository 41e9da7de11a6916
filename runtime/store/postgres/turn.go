package postgres

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
)

func (w *work) commit(c *store.Commit) error {
	c.Outcome, c.Turn, c.Due, c.Err = "", nil, time.Time{}, nil
	b, o := w.fenced(&c.Fence)
	if o == store.Done && (b.claimed != c.Message || b.head != c.Sequence) {
		o = store.Fenced
	}
	if c.Outcome = o; o != store.Done {
		return nil
	}
	b.head, b.changed = b.head+1, true
	if c.State != nil {
		b.revision, b.message, b.version = c.Sequence, c.Message, int64(c.Version)
		b.state, b.stated = slices.Clone(c.State), true
	}
	m := w.changes.message(c.Message)
	m.status, m.finishedAt, m.attempts = new(string(c.Status)), new(w.now), 1
	m.result, m.rejection = doc(c.Result), doc(c.Rejection)
	if err := w.stage(c); err != nil {
		return err
	}
	if c.Broadcast != nil {
		if err := w.announce(c, b); err != nil {
			return err
		}
	}
	var err error
	c.Turn, c.Due, err = w.follow(b, c.Next, c.Yield)
	return err
}

// follow sees to what comes after a finished message whose claim is still there: it claims the next one (next), or
// leaves it to whoever scans, together with the lease (yield).
func (w *work) follow(b *box, next, yield bool) (turn *store.Turn, due time.Time, err error) {
	if yield {
		b.disown()
	}
	m, err := w.at(b, b.head)
	if err != nil {
		return nil, due, err
	}
	if m != nil && next && !yield && w.isDue(b, m) && !exhausted(m) {
		w.start(b, m)
		return new(w.turn(b, m)), due, nil
	}
	if b.claimed = ""; m == nil {
		return nil, due, nil
	}
	if b.paused == 0 {
		due = m.AvailableAt
	}
	w.wait(b, m)
	return nil, due, nil
}

// stage takes what the turn asked for.
func (w *work) stage(c *store.Commit) error {
	for i := range c.Effects {
		w.changes.effects = append(w.changes.effects, effectRow{c.Fence.Instance, c.Message, &c.Effects[i]})
	}
	for i := range c.Sends {
		s := &c.Sends[i]
		available := max(micros(s.When.From(fromMicros(w.now))), w.now)
		w.changes.sends = append(w.changes.sends, sendRow{c.Fence.Instance, c.Message, available, s})
	}
	for i := range c.Reminders {
		r := &c.Reminders[i]
		row := &reminderRow{id: r.ID, policy: string(r.CatchUp), at: micros(r.When.From(fromMicros(w.now))), Reminder: r}
		if row.id == "" {
			var err error
			if row.id, err = newID(); err != nil {
				return err
			}
		}
		if row.policy == "" {
			row.policy = "latest"
		}
		if w.changes.reminders == nil {
			w.changes.reminders = map[reminderName]*reminderRow{}
		}
		w.changes.reminders[reminderName{c.Fence.Instance, r.Operation, r.Key}] = row // the last change of a name counts
	}
	return nil
}

// announce takes the commit's broadcast, already claimed by its own process; it absorbs the actor's pending one.
func (w *work) announce(c *store.Commit, b *box) error {
	b.previous, b.broadcast, b.announced = b.broadcast, c.Sequence, c.Message
	n := c.Broadcast
	restore(w, n)
	n.Instance, n.Revision, n.Previous, n.Message = b.id, c.Sequence, b.previous, c.Message
	if older := w.pending[b.id]; older != nil {
		store.AbsorbBroadcast(n, older)
	}
	w.pending[b.id], b.news, b.heard = n, n, true
	names, shared, err := store.EncodeBroadcast(n)
	if err != nil {
		return err
	}
	w.changes.news = append(w.changes.news, &newsRow{n, c.Fence.Owner, names, shared})
	return nil
}

// broadcasts gathers the reading of pending broadcasts, but for those that were handed on.
func (w *work) broadcasts(instances, delivered []string) {
	w.query(loadBroadcasts, func(rows pgx.Rows) error {
		b := &store.Broadcast{}
		var names, shared string
		if err := rows.Scan(&b.Instance, &b.ID, &b.Previous, &names, &shared); err != nil {
			return err
		}
		if slices.Contains(delivered, b.ID) {
			return nil
		}
		if store.DecodeBroadcast(names, shared, b) {
			w.pending[b.Instance] = b
		}
		return nil
	}, instances)
}

func (w *work) failure(f *store.Failure) error {
	f.Outcome, f.Turn, f.Due, f.Err = "", nil, time.Time{}, nil
	b, o := w.fenced(&f.Fence)
	if o == store.Done && (b.claimed != f.Message || b.head != f.Sequence) {
		o = store.Fenced
	}
	if f.Outcome = o; o != store.Done {
		return nil
	}
	w.tried(f.Message)
	if f.Final {
		w.dead(f.Message, f.ErrorKind, f.ErrorText, f.Stack)
		b.head, b.changed = b.head+1, true
		var err error
		f.Turn, f.Due, err = w.follow(b, f.Next, f.Yield)
		return err
	}
	m, err := w.at(b, b.head)
	if err != nil {
		return err
	}
	m.AvailableAt = fromMicros(w.now + max(f.Backoff, 0).Microseconds())
	change := w.changes.message(m.ID)
	change.availableAt, change.errorKind, change.errorText = new(micros(m.AvailableAt)), &f.ErrorKind, &f.ErrorText
	b.disown()
	w.wait(b, m)
	if b.paused == 0 {
		f.Due = m.AvailableAt
	}
	return nil
}

func (w *work) release(x *store.Release) error {
	b, o := w.fenced(&x.Fence)
	if x.Outcome = o; o != store.Done {
		return nil
	}
	b.disown()
	if b.claimed == "" {
		return nil
	}
	m, err := w.at(b, b.head)
	if err != nil {
		return err
	}
	if x.Uncount {
		m.Attempts = max(m.Attempts-1, 0)
	} else {
		w.tried(m.ID)
	}
	w.wait(b, m)
	return nil
}

func (w *work) renewal(x *store.Renewal) error {
	x.Until = time.Time{}
	b, o := w.fenced(&x.Fence)
	if x.Outcome = o; o == store.Done {
		b.lease, b.changed = w.now+x.Lease.Microseconds(), true
		x.Until = fromMicros(b.lease)
	}
	return nil
}
