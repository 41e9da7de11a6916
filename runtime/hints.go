package runtime

import (
	"context"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// Bus carries hints between processes: Config.Bus, or a store that is one.
type Bus = bus.Bus

// tell has other processes look. What this process does by itself anyway is not told.
func (rt *Runtime) tell(hints ...bus.Hint) {
	if rt.bus != nil {
		rt.bus.Publish(rt.id, hints...)
	}
}

// tellMessages tells of messages that were put into mailboxes here: their actors may be active elsewhere.
func (rt *Runtime) tellMessages(list []store.Message) {
	if rt.bus == nil {
		return
	}
	told := map[string]bool{}
	for i := range list {
		if typ := list[i].Type; !told[typ] {
			told[typ] = true
			rt.tell(bus.Hint{Kind: bus.Messages, Name: typ})
		}
	}
}

// tellIdle tells what only other processes can do: no workers run here.
func (rt *Runtime) tellIdle(h bus.Hint) {
	if !rt.running.Load() {
		rt.tell(h)
	}
}

// tellAll tells of everything that this process might have done and now leaves to others.
func (rt *Runtime) tellAll() {
	for _, typ := range rt.typeNames {
		rt.tell(bus.Hint{Kind: bus.Messages, Name: typ})
	}
	for _, name := range rt.effects {
		rt.tell(bus.Hint{Kind: bus.Effects, Name: name})
	}
}

// tellEnd tells of a message's end where somebody elsewhere may wait for it.
func (rt *Runtime) tellEnd(m *store.Message, heard bool) {
	mine := heard && m.IdempotencyKey == ""
	if !mine && (m.Origin == store.FromClient || m.Origin == store.FromOperator) {
		rt.tell(bus.Hint{Kind: bus.Ended, ID: m.ID})
	}
}

// publish hands a broadcast to this process's hub and tells the others'.
func (rt *Runtime) publish(b actors.Broadcast) {
	rt.followers.publish(b)
	rt.tellNews(b)
}

// adopt hands on what another process committed, as if it had told of it: its build may not know all that changed.
func (rt *Runtime) adopt(b actors.Broadcast) {
	rt.followers.publish(actors.Broadcast{Actor: b.Actor, Instance: b.Instance, Revision: b.Revision, Previous: b.Revision, Message: b.Message})
	rt.tellNews(b)
}

func (rt *Runtime) tellNews(b actors.Broadcast) {
	rt.tell(bus.Hint{Kind: bus.News, Actor: b.Actor, Instance: b.Instance, Revision: b.Revision})
}

// nudgeEvery bounds how often all waiting calls read their messages because of hints.
const nudgeEvery = time.Second

// ear is what a runtime does about hints. What it hears within a window is one.
type ear struct {
	rt    *Runtime
	work  chan struct{} // of capacity 1: ask what is due
	ended chan struct{} // of capacity 1: any message may have ended
}

// listen hears hints until ctx ends.
func (rt *Runtime) listen(ctx context.Context) error {
	e := &ear{rt: rt, work: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
	listening, stop := context.WithCancel(ctx)
	var under sync.WaitGroup
	defer under.Wait()
	defer stop()
	under.Go(func() { e.each(listening, e.work, bus.Window, func() { _, _ = rt.poll(listening) }) })
	under.Go(func() { e.each(listening, e.ended, min(rt.cfg.Poll, nudgeEvery), rt.waiters.nudge) })
	return rt.bus.Listen(listening, e.hear)
}

// each does it after a signal, at once and then no more often than every pause.
func (e *ear) each(ctx context.Context, signal <-chan struct{}, pause time.Duration, do func()) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-signal:
			do()
			sleep(ctx, pause)
		}
	}
}

// hear takes hints of other processes.
func (e *ear) hear(from string, hints []bus.Hint) {
	rt := e.rt
	if from == rt.id {
		return
	}
	for _, h := range hints {
		switch h.Kind {
		case bus.Missed:
			offer(e.work)
			offer(e.ended)
			rt.revoked.publish(actors.Revoked{})
		case bus.Revoke:
			rt.revoked.publish(actors.Revoked{})
		case bus.Messages:
			if rt.types[h.Name] != nil {
				offer(e.work)
			}
		case bus.Effects:
			if _, ok := rt.executors[h.Name]; ok {
				offer(e.work)
			}
		case bus.Reminders, bus.Sends:
			offer(e.work)
		case bus.Ended:
			if h.ID == "" {
				offer(e.ended)
			} else {
				rt.waiters.look(h.ID)
			}
		case bus.Gone:
			rt.waiters.gone(h.ID)
		case bus.News:
			// It covers nothing by itself: a hub that does not know the revision finds a gap, and reads.
			rt.followers.publish(actors.Broadcast{Actor: h.Actor, Instance: h.Instance, Revision: h.Revision, Previous: h.Revision})
		}
	}
}

// warnAlone says once that other processes are there and nothing tells of them.
func (rt *Runtime) warnAlone(ctx context.Context) {
	if rt.bus != nil || rt.warned {
		return
	}
	list, err := rt.store.Processes(ctx)
	if err != nil {
		return // it is asked again
	}
	var now time.Time
	if now, err = rt.store.Now(ctx); err != nil {
		return
	}
	for _, p := range list {
		if p.ID != rt.id && p.State == "running" && now.Sub(p.BeatAt) < rt.cfg.Stale {
			rt.warned = true
			rt.cfg.Logger.Warn("several processes share the database and no bus is configured: they find each other's work by polling",
				"dialect", rt.store.Dialect(), "poll", rt.cfg.PollIdle)
			return
		}
	}
}
