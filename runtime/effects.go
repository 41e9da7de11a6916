package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// performEffects claims due effects and performs them, Config.EffectWorkers at once, until ctx ends; those still
// running then are told to stop and given back.
func (rt *Runtime) performEffects(ctx context.Context) error {
	if len(rt.effects) == 0 {
		<-ctx.Done()
		return nil
	}
	slots := make(chan struct{}, rt.cfg.EffectWorkers)
	running := &effectSet{ids: map[string]bool{}}
	var attempts inflight
	renewing := make(chan struct{})
	defer close(renewing)
	defer func() {
		if !attempts.wait(rt.cfg.Shutdown) {
			rt.deaf.Store(int64(len(running.list())))
		}
	}()
	go rt.renewEffects(running, renewing)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-rt.clock.signals[effectRole]:
		}
		for ctx.Err() == nil {
			free := cap(slots) - len(slots)
			if free == 0 {
				break // the one that ends wakes the role
			}
			claimed, err := rt.store.ClaimEffects(ctx, rt.id, rt.effects, free, rt.cfg.Lease)
			if err != nil {
				if ctx.Err() == nil {
					rt.failing(ctx, roleNames[effectRole], err, time.Second)
					rt.clock.wake(effectRole, time.Second)
				}
				break
			}
			for _, e := range claimed {
				slots <- struct{}{}
				running.add(e.ID)
				attempts.add()
				go func() {
					defer attempts.done()
					rt.perform(ctx, e)
					running.remove(e.ID)
					<-slots
					rt.clock.wake(effectRole, 0)
				}()
			}
			if len(claimed) < free {
				break
			}
		}
	}
}

// perform makes one attempt and records how it ended.
func (rt *Runtime) perform(ctx context.Context, e store.Effect) {
	if e.Attempt > e.MaxAttempts {
		rt.bury(e)
		return
	}
	attempt, cancel := context.WithTimeout(ctx, rt.cfg.EffectTimeout)
	defer cancel()
	seen := rt.observeEffect(attempt, e)
	out, err := rt.executors[e.Name].Perform(seen.ctx, actors.EffectAttempt{
		ID: e.ID, Attempt: e.Attempt, Type: e.Type, ActorID: e.ActorID, Arguments: e.Arguments,
	})
	var result json.RawMessage
	if err == nil {
		result, err = actors.EncodeDocument("effect result", out, rt.cfg.ResultBytes)
	}
	o := &store.EffectOutcome{ID: e.ID, Owner: rt.id, Attempt: e.Attempt}
	rejected, isRejection := errors.AsType[*actors.Rejected](err)
	switch {
	case err == nil:
		o.Success, o.Result = true, result
		o.Message = rt.tidings(e, e.Done, func() (json.RawMessage, error) {
			return actors.EffectResult(e.ID, e.Arguments, result)
		})
	case ctx.Err() != nil && !isRejection:
		o.Again, o.Uncount = true, true // told to stop
	case !isRejection && !actors.IsPermanent(err) && e.Attempt < e.MaxAttempts:
		o.Again, o.Retry = true, rt.cfg.backoff(e.Attempt)
		o.ErrorKind, o.ErrorText = errorKind(err), actors.CleanText(errorText(err), 8<<10)
	default:
		o.ErrorKind, o.ErrorText = errorKind(err), actors.CleanText(errorText(err), 8<<10)
		code, text := "failed", ""
		if isRejection {
			code, text = rejected.Code, rejected.Message
		}
		o.Message = rt.tidings(e, e.Failed, func() (json.RawMessage, error) {
			return actors.EffectFailure(e.ID, e.Arguments, e.Attempt, code, text)
		})
	}
	if o.Message != nil && seen.span.Span != nil {
		o.Message.Meta = rt.tracing.metaOf(seen.ctx)
	}
	err = rt.record(o)
	rt.effectEnded(seen, e, o, isRejection, err)
}

// bury ends an effect whose last attempt was lost with its process: whether it succeeded outside is not known.
func (rt *Runtime) bury(e store.Effect) {
	o := &store.EffectOutcome{ID: e.ID, Owner: rt.id, Attempt: e.Attempt, ErrorKind: store.OwnerLost, ErrorText: "the process that performed the last attempt was lost"}
	o.Message = rt.tidings(e, e.Failed, func() (json.RawMessage, error) {
		return actors.EffectFailure(e.ID, e.Arguments, e.MaxAttempts, "failed", "")
	})
	rt.effectEnded(attempted{ctx: context.Background(), begun: time.Now()}, e, o, false, rt.record(o))
}

// tidings is the message that tells the actor how its effect ended, or nil where it does not want to hear.
func (rt *Runtime) tidings(e store.Effect, operation string, encode func() (json.RawMessage, error)) *store.Message {
	if operation == "" {
		return nil
	}
	doc, err := encode()
	if err != nil {
		rt.observer.emit(context.Background(), Event{
			Name: EffectUntold, Effect: e.Name, Type: e.Type, ActorID: e.ActorID, Attempt: e.Attempt, ErrorKind: errorKind(err),
		})
		return nil
	}
	return &store.Message{ID: newID(), Operation: operation, Arguments: doc, MaxAttempts: rt.cfg.Attempts, Meta: e.Meta}
}

// record writes the end of an attempt; until it is written the effect is repeated, with the same id, once its claim
// lapses. The work is done, so shutting down does not cancel it.
func (rt *Runtime) record(o *store.EffectOutcome) error {
	limit, cancel := context.WithTimeout(context.Background(), rt.cfg.Lease)
	defer cancel()
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		sent, err := rt.store.FinishEffects(limit, []*store.EffectOutcome{o})
		if err == nil {
			if len(sent) > 0 {
				rt.clock.wake(workRole, 0)
				rt.tellMessages(sent)
			}
			if o.Again {
				rt.clock.wake(effectRole, o.Retry)
			}
			return nil
		}
		if limit.Err() != nil || !errors.Is(err, store.ErrTransient) && !errors.Is(err, store.ErrNotWritable) {
			return err
		}
		sleep(limit, wait)
	}
}

// effectSet are the effects that this process is performing.
type effectSet struct {
	mu  sync.Mutex
	ids map[string]bool
}

func (s *effectSet) add(id string) {
	s.mu.Lock()
	s.ids[id] = true
	s.mu.Unlock()
}

func (s *effectSet) remove(id string) {
	s.mu.Lock()
	delete(s.ids, id)
	s.mu.Unlock()
}

func (s *effectSet) list() (ids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.ids {
		ids = append(ids, id)
	}
	return ids
}

// renewEffects keeps the claims of running effects until done.
func (rt *Runtime) renewEffects(running *effectSet, done <-chan struct{}) {
	tick := time.NewTicker(rt.cfg.Renew)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		ids := running.list()
		if len(ids) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), rt.cfg.Renew)
		if err := rt.store.RenewEffects(ctx, rt.id, ids, rt.cfg.Lease); err != nil {
			rt.failing(ctx, "renewing effects", err, rt.cfg.Renew)
		}
		cancel()
	}
}
