//go:build unix

package crash

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// D37: callers that have every connection of the pool, in transactions that the runtime cannot see, in handlers and in
// effects with rows still open, call it from there. Each call succeeds or ends by its deadline, typed, and afterwards
// everything goes on.
func TestD37CallsFromInsideTransactionsEnd(t *testing.T) {
	everywhere(t, func(t *testing.T, d *database) {
		for _, conns := range []int{1, 4} {
			t.Run(fmt.Sprintf("pool of %d", conns), func(t *testing.T) { callsFromInside(t, d, conns) })
		}
	})
}

// insider calls a runtime from where all of its pool may be in use.
type insider struct {
	t       *testing.T
	rt      *runtime.Runtime
	typ     *actors.Type[slip]
	try     *actors.MessageType[slip, string, int]
	results sync.Map // errors, by verb and place
}

// call calls everything that there is, under a deadline.
func (in *insider) call(where string, from context.Context, i int) {
	const patience = time.Second
	for verb, do := range map[string]func(ctx context.Context) error{
		"Tell": func(ctx context.Context) error {
			_, err := in.try.Tell(ctx, in.rt, in.typ.Ref(fmt.Sprint("told ", i)), "x")
			return err
		},
		"Ask": func(ctx context.Context) error {
			_, err := in.try.Ask(ctx, in.rt, in.typ.Ref(fmt.Sprint("asked ", i)), "x")
			return err
		},
		"Snapshot": func(ctx context.Context) error {
			_, err := in.typ.Ref(fmt.Sprint("told ", i)).Snapshot(ctx, in.rt)
			return err
		},
		"Destroy": func(ctx context.Context) error { _, err := in.typ.Ref("nobody").Destroy(ctx, in.rt); return err },
	} {
		ctx, cancel := context.WithTimeout(from, patience)
		begun := time.Now()
		err := do(ctx)
		cancel()
		if took := time.Since(begun); took > patience+2*time.Second {
			in.t.Errorf("%s from %s took %v", verb, where, took)
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, store.ErrTransient) && !errors.Is(err, actors.ErrCallCycle) && !errors.Is(err, actors.ErrOutcomeUnknown) {
			in.t.Errorf("%s from %s: %v", verb, where, err)
		}
		in.results.Store(fmt.Sprintf("%s from %s", verb, where), err)
	}
}

func callsFromInside(t *testing.T, d *database, conns int) {
	p := pooled(t, d, d.empty(t, t.TempDir()), conns)
	in := &insider{t: t}
	effect := (*actors.EffectType[slip, string, string])(nil)
	performed := make(chan error, 1)
	in.typ, in.try = probe(func(turn *actors.Turn[slip], line string) error {
		switch line {
		case "handler":
			return p.hold(turn.Context(), func() {
				in.call("a handler with its own ctx", turn.Context(), -1)
				in.call("a handler with a foreign ctx", t.Context(), -1)
			})
		case "effect":
			effect.Emit(turn, line)
		}
		return nil
	})
	effect = actors.Effect[string, string](in.typ, "act")
	cfg := hasty()
	cfg.Types, cfg.Lease, cfg.Renew, cfg.AskTimeout = []actors.AnyType{in.typ}, 30*time.Second, 10*time.Second, time.Minute
	cfg.Effects = []actors.Executor{effect.By(func(ctx context.Context, c actors.EffectCall[string]) (string, error) {
		err := p.hold(ctx, func() { in.call("an effect", ctx, -2) })
		performed <- err
		return "", err
	})}
	in.rt = serve(t, p.store, cfg)
	ask := func(line string) (int, error) { return in.try.Ask(t.Context(), in.rt, in.typ.Ref("a"), line) }
	if _, err := ask("before"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			if err := p.hold(t.Context(), func() { in.call("a transaction", t.Context(), i) }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if _, err := ask("handler"); err != nil {
		t.Errorf("a handler that calls: %v", err)
	}
	if _, err := ask("effect"); err != nil {
		t.Error(err)
	}
	select {
	case err := <-performed:
		if err != nil {
			t.Errorf("the effect: %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the effect was not performed")
	}
	for _, verb := range []string{"Tell", "Ask", "Destroy"} {
		if err, _ := in.results.Load(verb + " from a handler with its own ctx"); err == nil || !errors.Is(err.(error), actors.ErrCallCycle) {
			t.Errorf("%s from a handler: %v, want ErrCallCycle", verb, err)
		}
	}
	if n, err := ask("after"); n != 4 || err != nil {
		t.Errorf("afterwards the answer is %d, %v; want 4", n, err)
	}
}
