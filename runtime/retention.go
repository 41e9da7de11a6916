package runtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Forever is a retention that deletes nothing.
const Forever time.Duration = -1

// Retention says how long things of one actor type are kept, where that is not what Config says for all.
type Retention struct {
	// Messages is for finished ones; zero is Config.MessageRetention, Forever keeps them all.
	Messages time.Duration
	// Actors is how long one may lie unused until it is destroyed; zero and Forever keep them all. A message is a use,
	// reading is none. An actor that is active or paused, or has unfinished messages, reminders, undelivered outbox
	// entries or dead letters, does not expire however long it was not used.
	Actors time.Duration
}

// messageAge is how old a finished message of a type may become; negative: any age. History of destroyed actors, which
// has no type any more, goes as early as any.
func (c *Config) messageAge(typ string) time.Duration {
	if typ == "" {
		return c.shortest()
	}
	if own := c.Retention[typ].Messages; own != 0 {
		return own
	}
	return c.MessageRetention
}

// shortest is the earliest age at which any message may go, or Forever.
func (c *Config) shortest() time.Duration {
	least := c.MessageRetention
	for _, r := range c.Retention {
		if r.Messages > 0 && (least < 0 || r.Messages < least) {
			least = r.Messages
		}
	}
	return least
}

const (
	// briskBatch and slowBatch are what the duration of a batch is steered between, so that live work, which may wait
	// for one, does not notice.
	briskBatch = 20 * time.Millisecond
	slowBatch  = 80 * time.Millisecond
	// expiryBatch bounds the actors of one transaction: each is some ten statements.
	expiryBatch = 100
	// stubborn is how often a pass takes one batch again, each time a smaller one.
	stubborn = 5
)

// pace is how much is deleted at once, and how long others are let go first.
type pace struct{ most, batch int }

func (rt *Runtime) pace() *pace { return &pace{rt.cfg.RetentionBatch, rt.cfg.RetentionBatch} }

// run takes one batch, whose size is handed over, again and smaller where it fails, and then pauses for as long as it
// took. The error is the last.
func (p *pace) run(ctx context.Context, batch func(limit int) error) error {
	var err error
	pause := 100 * time.Millisecond
	for range stubborn {
		begun := time.Now()
		if err = batch(p.batch); err == nil {
			took := time.Since(begun)
			switch {
			case took > slowBatch:
				p.batch = max(p.batch/2, min(p.most, 10))
			case took < briskBatch:
				p.batch = min(p.batch*2, p.most)
			}
			sleep(ctx, min(took, time.Second))
			return ctx.Err()
		}
		if ctx.Err() != nil {
			return err
		}
		p.batch = max(p.batch/2, 1)
		sleep(ctx, pause)
		pause *= 2
	}
	return err
}

// prunePass is one walk over what may be deleted.
type prunePass struct {
	rt      *Runtime
	only    string // type, or ""
	age     func(typ string) time.Duration
	least   time.Duration // the smallest of the ages
	limit   int
	execute bool

	types map[string]int // found by type
	count int
	more  bool // it stopped at the limit
}

func (p *prunePass) add(typ string, n int) {
	if n > 0 {
		p.types[typ] += n
		p.count += n
	}
}

// messages walks finished history once, oldest first, by pages: what stays is read once and passed over, so that it
// holds nothing up.
func (p *prunePass) messages(ctx context.Context) error {
	if p.least < 0 {
		return nil
	}
	now, err := p.rt.store.Now(ctx)
	if err != nil {
		return err
	}
	var after store.Finished
	pace := p.rt.pace()
	for end := false; !end && !p.more; {
		err := pace.run(ctx, func(limit int) error {
			page, err := p.rt.store.Finished(ctx, p.least, after, limit)
			if err != nil {
				return err
			}
			if err := p.forget(ctx, p.choose(page, now)); err != nil {
				return err
			}
			if end = len(page) < limit; len(page) > 0 {
				after = page[len(page)-1]
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// choose gathers the ids of those that may go by their types, up to the limit of the pass.
func (p *prunePass) choose(page []store.Finished, now time.Time) map[string][]string {
	chosen, n := map[string][]string{}, p.count
	for _, m := range page {
		age := p.age(m.Type)
		if m.Needed || age < 0 || now.Sub(m.At) < age || p.only != "" && m.Type != p.only {
			continue
		}
		if n >= p.limit {
			p.more = true
			break
		}
		n++
		chosen[m.Type] = append(chosen[m.Type], m.ID)
	}
	return chosen
}

// forget deletes or counts a page's choice. What a batch that failed has deleted is not found again by the next.
func (p *prunePass) forget(ctx context.Context, chosen map[string][]string) error {
	for typ, ids := range chosen {
		n := len(ids)
		if p.execute {
			var err error
			if n, err = p.rt.store.Forget(ctx, ids); err != nil {
				return err
			}
		}
		p.add(typ, n)
	}
	return nil
}

// actors walks the actors of a type once and lets those expire that were not used for age.
func (p *prunePass) actors(ctx context.Context, typ string, age time.Duration) error {
	now, err := p.rt.store.Now(ctx)
	if err != nil {
		return err
	}
	after := ""
	pace := p.rt.pace()
	for end := false; !end && !p.more; {
		err := pace.run(ctx, func(limit int) error {
			limit = min(limit, expiryBatch)
			page, err := p.rt.store.Instances(ctx, typ, after, limit)
			if err != nil {
				return err
			}
			var idle []string
			for i := range page {
				if !page[i].Quiet() || now.Sub(page[i].UsedAt) < age {
					continue
				}
				if p.count+len(idle) >= p.limit {
					p.more = true
					break
				}
				idle = append(idle, page[i].ID)
			}
			if err := p.expire(ctx, typ, idle, age); err != nil {
				return err
			}
			if end = len(page) < limit; len(page) > 0 {
				after = page[len(page)-1].Key.ID
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *prunePass) expire(ctx context.Context, typ string, idle []string, age time.Duration) error {
	if !p.execute || len(idle) == 0 {
		p.add(typ, len(idle))
		return nil
	}
	expired, err := p.rt.store.Expire(ctx, idle, age)
	for i := range expired {
		p.rt.destroyed(expired[i].Key, expired[i].ID)
		p.rt.observer.emit(ctx, Event{Name: ActorExpired, Type: typ, ActorID: expired[i].Key.ID})
	}
	p.add(typ, len(expired))
	return err
}

// retained is what this process's retention has done so far.
type retained struct {
	mu       sync.Mutex
	passes   int64
	failures int64
	messages int64
	actors   int64
	last     time.Time // by this host's clock
}

// keepTidy makes a pass of retention every so often. A pass that fails is made again, later and later.
func (rt *Runtime) keepTidy(ctx context.Context) error {
	if rt.cfg.RetentionEvery < 0 {
		<-ctx.Done()
		return nil
	}
	// The first is soon, since a program that is restarted often would never come to it, and not at once, nor together
	// with those of processes that started with this one.
	soon := rt.cfg.RetentionEvery / 60
	wait := soon + rand.N(soon+1)
	failures := 0
	for {
		sleep(ctx, wait)
		if ctx.Err() != nil {
			return nil
		}
		if rt.quiet() {
			wait = time.Minute
			continue
		}
		wait = rt.cfg.RetentionEvery
		rt.clock.wake(sweepRole, 0) // of what a process destroyed that is gone
		if err := rt.tidy(ctx); err != nil && ctx.Err() == nil {
			wait = min(wait, time.Second<<min(failures, 30))
			failures++
			rt.failing(ctx, "retention", err, wait)
			continue
		}
		failures = 0
	}
}

// tidy is one pass of retention: messages, effects that were given up, actors.
func (rt *Runtime) tidy(ctx context.Context) error {
	const all = 1 << 62
	begun := time.Now()
	messages := prunePass{rt: rt, age: rt.cfg.messageAge, least: rt.cfg.shortest(), limit: all, execute: true, types: map[string]int{}}
	err := messages.messages(ctx)
	if err == nil {
		err = rt.forgetEffects(ctx)
	}
	expiry := prunePass{rt: rt, limit: all, execute: true, types: map[string]int{}}
	for _, typ := range rt.typeNames {
		if age := rt.cfg.Retention[typ].Actors; age > 0 && err == nil {
			err = expiry.actors(ctx, typ, age)
		}
	}
	if messages.count > 0 {
		rt.observer.emit(ctx, Event{Name: RetentionPruned, Count: messages.count, Took: time.Since(begun)})
	}
	rt.retained.mu.Lock()
	defer rt.retained.mu.Unlock()
	rt.retained.messages += int64(messages.count)
	rt.retained.actors += int64(expiry.count)
	if err != nil {
		if ctx.Err() == nil {
			rt.retained.failures++
		}
		return err
	}
	rt.retained.passes++
	rt.retained.last = time.Now()
	return nil
}

// forgetEffects deletes given-up effects with the history of their time.
func (rt *Runtime) forgetEffects(ctx context.Context) error {
	if rt.cfg.MessageRetention < 0 {
		return nil
	}
	pace := rt.pace()
	for end := false; !end; {
		err := pace.run(ctx, func(limit int) error {
			n, err := rt.store.ForgetEffects(ctx, rt.cfg.MessageRetention, limit)
			end = n < limit
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// overdue says since when the oldest message that may go should be gone, or zero; it looks at the first few that are old
// enough.
func (rt *Runtime) overdue(ctx context.Context, now time.Time) (since time.Time, err error) {
	least := rt.cfg.shortest()
	if least < 0 {
		return since, nil
	}
	page, err := rt.store.Finished(ctx, least, store.Finished{}, 100)
	if err != nil {
		return since, fmt.Errorf("read the oldest history: %w", err)
	}
	for _, m := range page {
		if age := rt.cfg.messageAge(m.Type); !m.Needed && age >= 0 && now.Sub(m.At) >= age {
			return m.At.Add(age), nil
		}
	}
	return since, nil
}

// destroyed tells those of this process who knew an incarnation that it is gone.
func (rt *Runtime) destroyed(actor actors.Address, instance string) {
	if act := rt.cache.find(actor); act != nil && act.fence.Instance == instance {
		act.cancel(actors.ErrLostActivation)
		rt.cache.drop(act)
	}
	rt.waiters.destroyed(instance)
	rt.clock.wake(sweepRole, 0)
	rt.tell(bus.Hint{Kind: bus.Gone, ID: instance})
	if !rt.running.Load() { // nobody here is woken: a small history goes at once, the rest of a large one with whoever runs
		ctx, cancel := context.WithTimeout(context.Background(), rt.cfg.Heartbeat)
		defer cancel()
		_, _ = rt.sweep(ctx)
	}
}
