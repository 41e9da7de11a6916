package runtime_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// moved is a store on a server whose clock is moved along with that of a bubble: before each verb by what has passed
// there since the last one. So it is ahead of the bubble's by what the verbs took in real time; that is made good as
// soon as it is much. It never goes back.
type moved struct {
	db    store.Store
	clock *movedClock
}

// muchLead is how far the moved clock may be ahead of the bubble's, less than what a doctor warns of. Up to that an alarm
// of the runtime, which goes by the bubble's, rings when its time has come by the moved clock too.
const muchLead = 900 * time.Millisecond

// movedClock is that of one database, however many stores are on it.
type movedClock struct {
	skew time.Duration // of the server's clock, ahead of this host's

	mu    sync.Mutex
	last  time.Time     // by the bubble's clock
	ahead time.Duration // of the moved clock, before the server's
	extra time.Duration // what a test moves it by
	lead  time.Duration // the most that it was ahead of the bubble's
}

// alongside moves the clocks of stores on one database along with the bubble's.
func alongside(t testing.TB, stores []store.Store) {
	t.Helper()
	there, err := stores[0].Now(t.Context())
	if err != nil {
		t.Fatalf("read the server's clock: %v", err)
	}
	clock := &movedClock{skew: there.Sub(realTime())}
	clock.last, clock.ahead = time.Now(), time.Since(there)
	d := here(t)
	d.clocks = append(d.clocks, clock)
	for i, db := range stores {
		stores[i] = &moved{db, clock}
	}
}

func (c *movedClock) offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	step := now.Sub(c.last)
	c.last = now
	bubble := now.Sub(realTime().Add(c.skew)) // the bubble's clock less the server's
	if lead := c.ahead + step - bubble; lead <= muchLead {
		c.ahead += step
	} else {
		c.ahead = max(c.ahead, bubble)
	}
	c.lead = max(c.lead, c.ahead-bubble)
	return c.ahead + c.extra
}

// most is the most that the moved clock was ahead of the bubble's.
func (c *movedClock) most() time.Duration {
	c.offset()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lead
}

func (m *moved) at() store.Store {
	m.db.Offset(m.clock.offset())
	return m.db
}

// Offset moves the clock of all who are on the database, as it does on a server.
func (m *moved) Offset(d time.Duration) {
	m.clock.mu.Lock()
	m.clock.extra = d
	m.clock.mu.Unlock()
}

func (m *moved) Dialect() string    { return m.db.Dialect() }
func (m *moved) Stats() store.Stats { return m.db.Stats() }
func (m *moved) Close() error       { return m.db.Close() }

func (m *moved) Warnings() []error { return m.db.Warnings() }

func (m *moved) Now(ctx context.Context) (time.Time, error)          { return m.at().Now(ctx) }
func (m *moved) Changes(ctx context.Context) (int64, error)          { return m.at().Changes(ctx) }
func (m *moved) Register(ctx context.Context, p store.Process) error { return m.at().Register(ctx, p) }

func (m *moved) Beat(ctx context.Context, id, state string) (store.Outcome, error) {
	return m.at().Beat(ctx, id, state)
}

func (m *moved) Leave(ctx context.Context, id string) (store.Recovered, error) {
	return m.at().Leave(ctx, id)
}

func (m *moved) Processes(ctx context.Context) ([]store.Process, error) { return m.at().Processes(ctx) }

func (m *moved) Recover(ctx context.Context, self string, stale, retain time.Duration) (store.Recovered, error) {
	return m.at().Recover(ctx, self, stale, retain)
}

func (m *moved) Flush(ctx context.Context, f *store.Flush) error { return m.at().Flush(ctx, f) }

func (m *moved) EnqueueTx(ctx context.Context, tx actors.Tx, e *store.Enqueue) error {
	return m.at().EnqueueTx(ctx, tx, e)
}

func (m *moved) Snapshot(ctx context.Context, k store.Key) (actors.Snapshot, error) {
	return m.at().Snapshot(ctx, k)
}

func (m *moved) Stamps(ctx context.Context, keys []store.Key) ([]actors.Progress, error) {
	return m.at().Stamps(ctx, keys)
}

func (m *moved) Revoke(ctx context.Context, r actors.Revoked, keep time.Duration) error {
	return m.at().Revoke(ctx, r, keep)
}

func (m *moved) Revocations(ctx context.Context, after int64, limit int) ([]actors.Revoked, int64, error) {
	return m.at().Revocations(ctx, after, limit)
}

func (m *moved) Message(ctx context.Context, id string) (store.Message, string, store.Outcome, error) {
	return m.at().Message(ctx, id)
}

func (m *moved) Alarms(ctx context.Context, instance string) ([]actors.Alarm, error) {
	return m.at().Alarms(ctx, instance)
}

func (m *moved) Destroy(ctx context.Context, k store.Key) (store.Destroyed, error) {
	return m.at().Destroy(ctx, k)
}

func (m *moved) Sweep(ctx context.Context, limit int) (int, error) { return m.at().Sweep(ctx, limit) }

func (m *moved) Deliver(ctx context.Context, limit, mailboxCap int, backoff time.Duration) ([]store.Message, error) {
	return m.at().Deliver(ctx, limit, mailboxCap, backoff)
}

func (m *moved) FireReminders(ctx context.Context, limit, mailboxCap, maxAttempts int, backoff time.Duration) ([]store.Message, error) {
	return m.at().FireReminders(ctx, limit, mailboxCap, maxAttempts, backoff)
}

func (m *moved) ClaimEffects(ctx context.Context, owner string, names []string, limit int, lease time.Duration) ([]store.Effect, error) {
	return m.at().ClaimEffects(ctx, owner, names, limit, lease)
}

func (m *moved) RenewEffects(ctx context.Context, owner string, ids []string, lease time.Duration) error {
	return m.at().RenewEffects(ctx, owner, ids, lease)
}

func (m *moved) FinishEffects(ctx context.Context, o []*store.EffectOutcome) ([]store.Message, error) {
	return m.at().FinishEffects(ctx, o)
}

func (m *moved) TakeBroadcasts(ctx context.Context, owner string, age time.Duration, limit int) ([]store.Broadcast, error) {
	return m.at().TakeBroadcasts(ctx, owner, age, limit)
}

func (m *moved) Due(ctx context.Context, types, effects []string) (store.Due, error) {
	return m.at().Due(ctx, types, effects)
}

func (m *moved) DeadLetters(ctx context.Context, limit int) ([]store.DeadLetter, error) {
	return m.at().DeadLetters(ctx, limit)
}

func (m *moved) Retry(ctx context.Context, id, newID string, mailboxCap int) (store.Message, store.Outcome, error) {
	return m.at().Retry(ctx, id, newID, mailboxCap)
}

func (m *moved) Pause(ctx context.Context, k store.Key, paused bool) (store.Outcome, error) {
	return m.at().Pause(ctx, k, paused)
}

func (m *moved) Finished(ctx context.Context, age time.Duration, after store.Finished, limit int) ([]store.Finished, error) {
	return m.at().Finished(ctx, age, after, limit)
}

func (m *moved) Forget(ctx context.Context, ids []string) (int, error) {
	return m.at().Forget(ctx, ids)
}

func (m *moved) ForgetEffects(ctx context.Context, age time.Duration, limit int) (int, error) {
	return m.at().ForgetEffects(ctx, age, limit)
}

func (m *moved) Instances(ctx context.Context, typ, after string, limit int) ([]store.Instance, error) {
	return m.at().Instances(ctx, typ, after, limit)
}

func (m *moved) States(ctx context.Context, typ string, ids []string) ([]store.Instance, error) {
	return m.at().States(ctx, typ, ids)
}

func (m *moved) Expire(ctx context.Context, instances []string, age time.Duration) ([]store.Instance, error) {
	return m.at().Expire(ctx, instances, age)
}

func (m *moved) Count(ctx context.Context, limit int) (store.Counts, error) {
	return m.at().Count(ctx, limit)
}

func (m *moved) DeadLettersAfter(ctx context.Context, failed time.Time, id string, limit int) ([]store.DeadLetter, error) {
	return m.at().DeadLettersAfter(ctx, failed, id, limit)
}

func (m *moved) Reminders(ctx context.Context, limit int) ([]store.Scheduled, error) {
	return m.at().Reminders(ctx, limit)
}
