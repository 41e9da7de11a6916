package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// prepare is the last word on a flush: enqueues that may run at once are given the fence of the cached activation, or
// the wish for a new one.
func (rt *Runtime) prepare(f *store.Flush) {
	if !rt.running.Load() || rt.crowded.Load() {
		return
	}
	for _, e := range f.Enqueues {
		if e.Claim != nil || e.When != (actors.When{}) || rt.setbacks.has(actors.Address{Type: e.Message.Type, ID: e.Message.ActorID}) {
			continue
		}
		if rt.slots.Add(1) > int64(rt.cfg.Workers) {
			rt.slots.Add(-1)
			continue
		}
		e.Held = rt.cache.fenceFor(actors.Address{Type: e.Message.Type, ID: e.Message.ActorID})
		e.Claim = &store.Claim{Owner: rt.id, Token: newID(), Lease: rt.cfg.Lease}
	}
}

// assist is a call's own running of an actor, where no workers run: up to its message and no further.
type assist struct{ until int64 }

// claimed starts the turn of an activation that a flush claimed. It is called on the flusher's goroutine.
func (rt *Runtime) claimed(c *store.Activation, by *assist) {
	address := actors.Address{Type: c.Type, ID: c.ActorID}
	var act *activation
	if c.Again {
		act = rt.cache.find(address)
		if act == nil || act.fence != c.Fence {
			rt.giveBack(c.Fence, true) // it was dropped meanwhile: whoever comes next reads the state anew
			if by == nil {
				rt.slots.Add(-1)
			}
			return
		}
		rt.cache.begin(act)
	} else {
		ctx, cancel := context.WithCancelCause(actors.WithTurn(context.Background()))
		act = &activation{
			address: address, def: rt.types[c.Type], fence: c.Fence,
			ctx: ctx, cancel: cancel, snapshot: c.Snapshot, origin: c.Snapshot.Revision,
		}
		old, ok := rt.cache.add(act)
		if !ok { // the release that is on its way gives the message back
			cancel(actors.ErrLostActivation)
			if by == nil {
				rt.slots.Add(-1)
			}
			return
		}
		if old != nil {
			old.cancel(actors.ErrLostActivation)
		}
	}
	act.assist, act.slot = by, by == nil
	act.turns, act.started = 0, time.Now()
	rt.turns.add()
	rt.begin(act, &c.Turn)
}

func (rt *Runtime) begin(act *activation, t *store.Turn) {
	act.begun = time.Now()
	rt.cache.leased(act, leaseClock{act.begun, t.Lease.Sub(t.Claimed)})
	act.turns++
	go rt.turn(act, t)
}

// turn runs one claimed message and submits how it ended. Whatever actor code does to this goroutine, by a hook, a
// migration, an observable or the methods of its values, is the failure of the turn or of its setup.
func (rt *Runtime) turn(act *activation, t *store.Turn) {
	rt.observeTurn(act, t)
	setUp, ended := false, false
	defer func() {
		p := recover()
		switch {
		case ended:
		case setUp:
			rt.failed(act, t, panicked(p))
		default:
			rt.setupFailed(act, t, panicked(p))
		}
	}()
	rt.attempt(act, t, &setUp)
	ended = true
}

// panicked is the error of a recovered panic; nil stands for a runtime.Goexit.
func panicked(p any) error {
	text := "runtime.Goexit"
	if p != nil {
		text = fmt.Sprint(p)
	}
	return &actors.Panicked{Value: actors.CleanText(text, 8<<10), Stack: actors.CleanText(string(debug.Stack()), 8<<10)}
}

func (rt *Runtime) attempt(act *activation, t *store.Turn, setUp *bool) {
	operation := act.def.Operation(t.Operation)
	if err := rt.load(act); err != nil {
		rt.setupFailed(act, t, err)
		return
	}
	if operation == nil {
		rt.setupFailed(act, t, &actors.UnknownOperation{Type: t.Type, Operation: t.Operation})
		return
	}
	in, err := operation.Decode(t.Arguments)
	if err != nil {
		rt.setupFailed(act, t, err)
		return
	}
	*setUp = true
	rt.setbacks.clear(act.address)
	x := &actors.Execution{
		Context: act.seen.ctx, Now: t.Claimed, ActorID: t.ActorID, MessageID: t.Message.ID,
		Sequence: t.Sequence, Attempt: t.Attempts, Payload: rt.cfg.PayloadBytes,
		Alarms: func(ctx context.Context) ([]actors.Alarm, error) { return rt.store.Alarms(ctx, t.Fence.Instance) },
	}
	out, err := operation.Perform(act.state, x, in)
	if err == nil {
		err = x.Err()
	}
	var c *store.Commit
	var after *after
	if err == nil {
		c, after, err = rt.outcome(act, t, operation, x, out)
	}
	rejected, isRejection := errors.AsType[*actors.Rejected](err)
	if isRejection {
		c, after, err = rt.rejection(act, t, rejected)
	}
	if err != nil {
		rt.failed(act, t, err)
		return
	}
	rt.submitCommit(act, t, c, after)
}

// after is what a commit changes about its activation, and what its caller hears.
type after struct {
	encoded json.RawMessage
	values  map[string]json.RawMessage
	ending  ending
	told    *told // what commit actions sent; nil where there are none
}

// load makes the state of an activation, new or to be restored: migrated, decoded into zero, its activation hook run.
func (rt *Runtime) load(act *activation) error {
	if act.state != nil {
		return nil
	}
	version, restored := act.def.StateVersion(), act.base != nil
	if !restored {
		version, act.base = act.snapshot.Version, act.snapshot.State
		act.stored, act.revision = act.base != nil, act.snapshot.Revision
		act.dirty = act.stored && version != act.def.StateVersion()
	}
	state, err := act.def.Load(version, act.base)
	if err != nil {
		return err
	}
	if act.base, err = actors.EncodeDocument("state", state, rt.cfg.StateBytes); err != nil {
		return err
	}
	if err := act.def.Activate(state, &actors.Activation{ID: act.address.ID, Revision: act.revision}); err != nil {
		return err
	}
	encoded, err := actors.EncodeDocument("state", state, rt.cfg.StateBytes)
	if err != nil {
		return err
	}
	if !restored || !bytes.Equal(encoded, act.encoded) {
		if act.values, err = rt.observe(act.def, state, encoded); err != nil {
			return err
		}
	}
	act.dirty = act.dirty || !bytes.Equal(act.base, encoded)
	act.state, act.encoded, act.snapshot.State = state, encoded, nil
	return nil
}

// observe computes the observables, which must leave the state as it is.
func (rt *Runtime) observe(def *actors.Definition, state any, encoded json.RawMessage) (map[string]json.RawMessage, error) {
	observables := def.Observables()
	if len(observables) == 0 {
		return nil, nil
	}
	values := make(map[string]json.RawMessage, len(observables))
	for _, o := range observables {
		v, err := o.Value(state)
		if err != nil {
			return nil, fmt.Errorf("observable %s: %w", o.Name, err)
		}
		if values[o.Name], err = actors.EncodeDocument("observable "+o.Name, v, rt.cfg.StateBytes); err != nil {
			return nil, err
		}
	}
	if def.Aliased() {
		again, err := actors.EncodeDocument("state", state, rt.cfg.StateBytes)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(encoded, again) {
			return nil, actors.Permanent(&actors.QueryChangedState{Type: def.Name, Operation: "an observable"})
		}
	}
	return values, nil
}

// outcome turns a handler's success into a commit.
func (rt *Runtime) outcome(act *activation, t *store.Turn, o *actors.Operation, x *actors.Execution, out any) (*store.Commit, *after, error) {
	result, err := actors.EncodeDocument("result", out, rt.cfg.ResultBytes)
	if err != nil {
		return nil, nil, err
	}
	encoded, err := actors.EncodeDocument("state", act.state, rt.cfg.StateBytes)
	if err != nil {
		return nil, nil, err
	}
	c := rt.newCommit(act, t, store.Completed)
	c.Result = result
	a := &after{encoded: act.encoded, values: act.values, ending: ending{result: result}}
	changed := !bytes.Equal(encoded, act.encoded)
	if o.ReadOnly {
		if changed || x.Staged() {
			return nil, nil, actors.Permanent(&actors.QueryChangedState{Type: t.Type, Operation: t.Operation})
		}
		return c, a, nil
	}
	if err := rt.stage(t, c, a, x); err != nil {
		return nil, nil, err
	}
	if !changed && act.stored && !act.dirty {
		return c, a, nil
	}
	values := act.values
	if changed {
		if values, err = rt.observe(act.def, act.state, encoded); err != nil {
			return nil, nil, err
		}
	}
	c.State, c.Version = encoded, act.def.StateVersion()
	a.encoded, a.values = encoded, values
	c.Broadcast = act.news(values, changed)
	return c, a, nil
}

// news is the broadcast of a commit that takes the activation's observables to values, or nil.
func (act *activation) news(values map[string]json.RawMessage, changed bool) *store.Broadcast {
	var names []string
	shared := map[string]json.RawMessage{}
	for _, o := range act.def.Observables() {
		if !act.dirty && bytes.Equal(values[o.Name], act.values[o.Name]) {
			continue
		}
		names = append(names, o.Name)
		if o.Shared {
			shared[o.Name] = values[o.Name]
		}
	}
	if len(names) == 0 && !(changed && act.def.PerViewer()) {
		return nil
	}
	return &store.Broadcast{ID: newID(), Actor: act.address, Names: names, Values: shared}
}

// stage takes what the turn staged into its commit.
func (rt *Runtime) stage(t *store.Turn, c *store.Commit, a *after, x *actors.Execution) error {
	for _, s := range x.Sends {
		if len(s.Arguments) > rt.cfg.PayloadBytes {
			return &actors.TooLarge{What: "arguments", Bytes: len(s.Arguments), Limit: rt.cfg.PayloadBytes}
		}
		m := store.Message{Operation: s.Operation, Arguments: s.Arguments, IdempotencyKey: s.IdempotencyKey, MaxAttempts: rt.cfg.Attempts}
		if s.IdempotencyKey != "" {
			print, err := fingerprint(s.Operation, s.Arguments)
			if err != nil {
				return err
			}
			m.Fingerprint = print
		}
		id := newID()
		m.Meta = rt.tracing.send(x.Context, s, id)
		c.Sends = append(c.Sends, store.Send{ID: id, To: actors.Address{Type: s.Type, ID: s.ID}, Message: m, When: s.When})
	}
	for _, e := range x.Effects {
		c.Effects = append(c.Effects, store.Effect{
			ID: newID(), Name: e.Name, Arguments: e.Arguments, Done: e.Done, Failed: e.Failed, MaxAttempts: rt.cfg.Attempts,
			Meta: rt.tracing.metaOf(x.Context),
		})
	}
	if len(x.Actions) > 0 {
		c.Action, a.told = rt.action(x.Context, t, x.Actions)
	}
	for _, r := range x.Reminders {
		c.Reminders = append(c.Reminders, store.Reminder{
			ID: newID(), Operation: r.Operation, Key: r.Key, Arguments: r.Arguments,
			When: r.When, Interval: r.Interval, CatchUp: r.CatchUp, Cancel: r.Cancel,
		})
	}
	return nil
}

// rejection turns a domain refusal into a commit; the state is restored first.
func (rt *Runtime) rejection(act *activation, t *store.Turn, r *actors.Rejected) (*store.Commit, *after, error) {
	doc, err := actors.EncodeDocument("rejection", r, rt.cfg.ResultBytes)
	if err != nil {
		return nil, nil, err
	}
	act.state = nil
	c := rt.newCommit(act, t, store.Rejected)
	c.Rejection = doc
	return c, &after{encoded: act.encoded, values: act.values, ending: ending{err: r}}, nil
}

func (rt *Runtime) newCommit(act *activation, t *store.Turn, status store.Status) *store.Commit {
	c := &store.Commit{Fence: act.fence, Message: t.Message.ID, Sequence: t.Sequence, Status: status}
	c.Next, c.Yield = rt.goesOn(act, t)
	return c
}

// goesOn says whether the activation takes its next message at once, or gives the lease back.
func (rt *Runtime) goesOn(act *activation, t *store.Turn) (next, yield bool) {
	if act.assist != nil {
		return t.Sequence < act.assist.until, t.Sequence >= act.assist.until
	}
	if act.turns >= rt.cfg.PassMessages || time.Since(act.started) >= rt.cfg.PassDuration {
		return false, true
	}
	return rt.running.Load(), !rt.running.Load()
}

func (rt *Runtime) submitCommit(act *activation, t *store.Turn, c *store.Commit, a *after) {
	rt.flusher.submit(&op{commit: c, actor: act.address, done: func(err error) {
		switch {
		case err == nil && c.Outcome == store.Done:
			rt.committed(act, t, c, a)
		case err == nil && c.Outcome == store.Failed:
			go rt.actionFailed(act, t, c.Err)
		case err == nil && c.Outcome == store.Refused:
			rt.failed(act, t, actors.Permanent(fmt.Errorf("the database refused the commit: %w", c.Err)))
		default:
			rt.lost(act, t, err)
		}
	}})
}

// committed goes on after a turn's commit. It is called on the flusher's goroutine, which starts no other turn of the
// activation meanwhile.
func (rt *Runtime) committed(act *activation, t *store.Turn, c *store.Commit, a *after) {
	act.encoded, act.values = a.encoded, a.values
	if c.Status == store.Rejected {
		rt.turnEnded(act, t, TurnRejected, "", 0)
	} else {
		rt.turnEnded(act, t, TurnCompleted, "", 0)
	}
	if c.State != nil {
		act.base, act.stored, act.dirty, act.revision = c.State, true, false, t.Sequence
	}
	if c.Broadcast != nil {
		c.Broadcast.Inherited = c.Broadcast.Previous < act.origin
		rt.publish(*c.Broadcast)
		rt.broadcasted(act.ctx, BroadcastMade, c.Broadcast)
		rt.flusher.forget(c.Broadcast.ID, act.address)
	}
	rt.tellEnd(&t.Message, rt.waiters.end(t.Message.ID, a.ending))
	if a.told != nil {
		rt.Announce(a.told.all()...)
	}
	now := act.now(t)
	rt.staged(c, now)
	rt.goOn(act, c.Turn, c.Due, now, c.Yield)
}

// now is the database's clock as far as the turn knows it, a little early: when it was claimed, and what has passed since.
func (act *activation) now(t *store.Turn) time.Time { return t.Claimed.Add(time.Since(act.begun)) }

// staged has what a commit put into the outboxes done.
func (rt *Runtime) staged(c *store.Commit, now time.Time) {
	if len(c.Sends) > 0 {
		rt.clock.wake(sendRole, 0)
		rt.tellIdle(bus.Hint{Kind: bus.Sends})
	}
	for i, e := range c.Effects {
		if i == 0 {
			rt.clock.wake(effectRole, 0)
		}
		rt.tellIdle(bus.Hint{Kind: bus.Effects, Name: e.Name})
	}
	for _, r := range c.Reminders {
		if !r.Cancel {
			rt.clock.wake(reminderRole, r.When.From(now).Sub(now))
			rt.tellIdle(bus.Hint{Kind: bus.Reminders})
		}
	}
}

// goOn starts the activation's next turn, or lets it rest, or lets it go; now is the database's.
func (rt *Runtime) goOn(act *activation, next *store.Turn, due, now time.Time, yielded bool) {
	if next != nil {
		rt.begin(act, next)
		return
	}
	if !due.IsZero() {
		rt.clock.wake(workRole, due.Sub(now))
		rt.tellIdle(bus.Hint{Kind: bus.Messages, Name: act.address.Type})
	}
	rt.passEnded(act, rt.stopReason(act, yielded))
	if yielded {
		rt.cache.drop(act)
		rt.settled(act)
		rt.deactivate(act)
		return
	}
	evicted := rt.cache.rest(act, time.Now())
	rt.settled(act)
	if rt.cfg.Idle < 0 || !rt.running.Load() {
		evicted = append(evicted, rt.cache.takeIdle(time.Time{})...)
	}
	for _, e := range evicted {
		rt.release(e)
	}
}
