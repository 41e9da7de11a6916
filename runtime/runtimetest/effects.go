package runtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
)

// shelf is where the attempts at the effects of one name wait for the test.
type shelf struct {
	rt *Runtime

	mu   sync.Mutex
	open []*attempt // in the order in which they came
}

// attempt is one attempt at an effect.
type attempt struct {
	actors.EffectAttempt
	ended chan ending // of capacity 1
}

type ending struct {
	out any
	err error
}

// perform is the executor of a staged effect: it performs nothing and returns what the test answers. Config.EffectTimeout
// is of no concern to it: a test may let any time pass first.
func (s *shelf) perform(ctx context.Context, a actors.EffectAttempt) (any, error) {
	it := &attempt{a, make(chan ending, 1)}
	s.mu.Lock()
	s.open = append(s.open, it)
	s.mu.Unlock()
	s.rt.work.wait(1)
	select {
	case e := <-it.ended:
		return e.out, e.err
	case <-s.rt.ended:
		s.take(it)
		return nil, context.Canceled
	}
}

// take says whether the attempt was still open, and has it be so no longer.
func (s *shelf) take(it *attempt) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.open, it)
	if i < 0 {
		return false
	}
	s.open = slices.Delete(s.open, i, i+1)
	s.rt.work.wait(-1)
	return true
}

// Effects are the staged effects of one name: each attempt at one waits until the test has answered it.
type Effects[In, Out any] struct {
	rt   *Runtime
	name string
}

// Staged are the effects of this kind in rt, which has staged them since its Config.Effects do not perform them: nothing is
// performed, and each attempt waits, for as long as the test likes, for its answer. Those that are never answered are given
// back when the test ends.
func Staged[S, In, Out any](rt *Runtime, e *actors.EffectType[S, In, Out]) *Effects[In, Out] {
	return &Effects[In, Out]{rt, e.By(nil).Name}
}

// All drains and returns the calls that wait for their answer, in the order in which they came.
func (e *Effects[In, Out]) All(t testing.TB) []*Call[In, Out] {
	t.Helper()
	s := e.rt.staged[e.name]
	if s == nil {
		t.Fatalf("effect %q is not staged: Config.Effects performs it, or no type of this runtime asks for it", e.name)
	}
	e.rt.Drain(t)
	s.mu.Lock()
	open := slices.Clone(s.open)
	s.mu.Unlock()
	calls := make([]*Call[In, Out], len(open))
	for i, it := range open {
		c := &Call[In, Out]{t: t, shelf: s, attempt: it}
		if err := actors.DecodeDocument("effect arguments", it.Arguments, &c.In); err != nil {
			t.Fatalf("effect %q: %v", e.name, err)
		}
		c.ID, c.Attempt, c.Type, c.ActorID = it.ID, it.Attempt, it.Type, it.ActorID
		calls[i] = c
	}
	return calls
}

// One drains and returns the only call that waits for its answer; none, or several, fail the test.
func (e *Effects[In, Out]) One(t testing.TB) *Call[In, Out] {
	t.Helper()
	calls := e.All(t)
	if len(calls) != 1 {
		t.Fatalf("%d calls of effect %q wait for their answer, want one%s", len(calls), e.name, listed(calls))
	}
	return calls[0]
}

// None drains and fails the test where a call waits for its answer.
func (e *Effects[In, Out]) None(t testing.TB) {
	t.Helper()
	if calls := e.All(t); len(calls) > 0 {
		t.Errorf("%d calls of effect %q wait for their answer, want none%s", len(calls), e.name, listed(calls))
	}
}

func listed[In, Out any](calls []*Call[In, Out]) (text string) {
	for _, c := range calls {
		in, _ := json.Marshal(c.In)
		text += "\n\t" + c.Type + "/" + c.ActorID + " " + string(in)
	}
	return text
}

// Call is one attempt at a staged effect: its arguments are In, its ID is the same for all attempts, and Attempt counts
// them from 1. It is answered once, by the test that got it.
type Call[In, Out any] struct {
	actors.EffectCall[In]

	t       testing.TB
	shelf   *shelf
	attempt *attempt
}

// Succeed ends the effect with a result, and drains: its actor has heard.
func (c *Call[In, Out]) Succeed(out Out) {
	c.t.Helper()
	c.answer(ending{out: out})
}

// Fail ends the effect for good, and drains. The actor is told the code and message of an actors.Reject, and of any other
// error only that there was one.
func (c *Call[In, Out]) Fail(err error) {
	c.t.Helper()
	if _, ok := errors.AsType[*actors.Rejected](err); !ok {
		err = actors.Permanent(err)
	}
	c.answer(ending{err: err})
}

// FailOnce ends this attempt, and drains. Another one follows after Config.Backoff, so after an Advance; or, where this
// was the last, the actor is told.
func (c *Call[In, Out]) FailOnce(err error) {
	c.t.Helper()
	if _, ok := errors.AsType[*actors.Rejected](err); ok || actors.IsPermanent(err) {
		c.t.Fatalf("%v is final: it cannot fail an effect once; see Fail", err)
	}
	c.answer(ending{err: err})
}

func (c *Call[In, Out]) answer(e ending) {
	c.t.Helper()
	if !c.shelf.take(c.attempt) {
		c.t.Fatalf("attempt %d at an effect of %s/%s was answered already", c.Attempt, c.Type, c.ActorID)
	}
	c.attempt.ended <- e
	c.shelf.rt.Drain(c.t)
}
