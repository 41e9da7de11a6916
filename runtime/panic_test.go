package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// trap is a state whose parts go wrong where How says so: "<place> <way>".
type trap struct {
	How string `json:"how"`
}

// spring goes wrong if how is for this place.
func spring(how, place string) {
	switch way, _ := strings.CutPrefix(how, place+" "); way {
	case "panic":
		panic("caught\x00")
	case "nil":
		panic(nil)
	case "Goexit":
		goruntime.Goexit()
	}
}

func (s trap) MarshalJSON() ([]byte, error) {
	spring(s.How, "marshal")
	type plain trap
	return json.Marshal(plain(s))
}

type unreadable struct{ error }

func (u unreadable) Error() string { spring(u.error.Error(), "error text"); return "unreadable" }
func (u unreadable) As(any) bool   { spring(u.error.Error(), "error identity"); return false }

type traps struct {
	*actors.Type[trap]
	set    *actors.MessageType[trap, string, int]
	query  *actors.QueryType[trap, string, int]
	effect *actors.EffectType[trap, string, string]
	heard  chan actors.Failed[string]
	failed *actors.MessageType[trap, actors.Failed[string], actors.None]
}

// defineTraps makes a type that goes wrong in any place of actor code: once for a message whose input says so.
func defineTraps() *traps {
	typ := actors.Define("trap", func() trap { return trap{} })
	x := &traps{Type: typ, heard: make(chan actors.Failed[string], 10)}
	x.set = actors.Message[string, int](typ, "set")
	x.set.Handle(func(s *trap, t *actors.Turn[trap], how string) (int, error) {
		spring(how, "handler")
		if strings.HasPrefix(how, "error ") {
			return 0, unreadable{errors.New(how)}
		}
		if strings.HasPrefix(how, "effect ") {
			x.effect.Emit(t, how)
			return 1, nil
		}
		s.How = how
		return 1, nil
	})
	x.query = actors.QueryWith(typ, "query", func(_ trap, how string) (int, error) { spring(how, "query"); return 1, nil })
	actors.Observable(typ, "sight", func(s trap) int { spring(s.How, "observable"); return len(s.How) })
	x.effect = actors.Effect[string, string](typ, "work")
	x.failed = actors.Message[actors.Failed[string], actors.None](typ, "failed")
	x.failed.Handle(func(_ *trap, _ *actors.Turn[trap], f actors.Failed[string]) (actors.None, error) {
		x.heard <- f
		return actors.None{}, nil
	})
	x.effect.Failed(x.failed)
	return x
}

// G18, D23: whatever goes wrong in actor code is one failed attempt: the caller hears of it, the actor's next message
// runs, and no slot is lost, of which there is one.
func TestG18PanicsAreFailedAttempts(t *testing.T) {
	for _, place := range []string{"handler", "query", "observable", "marshal", "error text", "error identity"} {
		for _, way := range []string{"panic", "nil", "Goexit"} {
			t.Run(place+" "+way, func(t *testing.T) {
				inTime(t, func(t *testing.T) {
					x := defineTraps()
					cfg := config(x)
					cfg.Workers, cfg.Attempts = 1, 1
					cfg.Effects = []actors.Executor{x.effect.By(func(context.Context, actors.EffectCall[string]) (string, error) { return "", nil })}
					db := openStore(t)
					rt := start(t, db, cfg)
					ask := func(how string) (err error) {
						if strings.HasPrefix(how, "query") {
							_, err = x.query.Ask(t.Context(), rt, x.Ref("a"), how)
						} else {
							_, err = x.set.Ask(t.Context(), rt, x.Ref("a"), how)
						}
						return err
					}
					for range 3 {
						as[*actors.MessageFailed](t, ask(place+" "+way))
						if err := ask("fine"); err != nil {
							t.Fatalf("the next message: %v", err)
						}
					}
					letters, err := db.DeadLetters(t.Context(), 10)
					if err != nil || len(letters) != 3 {
						t.Errorf("%d dead letters, %v; want 3", len(letters), err)
					}
				})
			})
		}
	}
}

func TestD23EffectsThatPanic(t *testing.T) {
	for _, way := range []string{"panic", "nil", "Goexit"} {
		t.Run(way, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				x := defineTraps()
				cfg := config(x)
				cfg.EffectWorkers, cfg.Attempts = 1, 2
				attempts := 0
				cfg.Effects = []actors.Executor{x.effect.By(func(_ context.Context, c actors.EffectCall[string]) (string, error) {
					attempts++
					spring(c.In, "effect")
					return "", nil
				})}
				rt := start(t, openStore(t), cfg)
				for i := range 2 {
					if _, err := x.set.Ask(t.Context(), rt, x.Ref("a"), "effect "+way); err != nil {
						t.Fatal(err)
					}
					pass(10 * time.Second)
					select {
					case f := <-x.heard:
						if f.Attempts != 2 || f.Args != "effect "+way || f.Code != "failed" || f.Message != "" {
							t.Errorf("the actor hears %+v", f)
						}
					default:
						t.Fatal("the actor hears nothing")
					}
					if attempts != 2*(i+1) {
						t.Errorf("%d attempts, want %d", attempts, 2*(i+1))
					}
				}
			})
		})
	}
}

// D23, G10: a migration or hook that goes wrong is no attempt: the caller hears of it, and the message waits.
func TestD23SetupThatPanics(t *testing.T) {
	for _, place := range []string{"hook", "migration"} {
		for _, way := range []string{"panic", "nil", "Goexit"} {
			t.Run(place+" "+way, func(t *testing.T) {
				inTime(t, func(t *testing.T) {
					var wrong atomic.Bool
					wrong.Store(true)
					db := openStore(t)
					if place == "migration" {
						old := definePads(nil)
						rt := idle(t, db, config(old))
						old.ask(t, rt, "a", "old")
					}
					attempt := 0
					p := definePads(func(turn *actors.Turn[pad], _ *pad, _ string) error { attempt = turn.Attempt(); return nil })
					p.OnActivate(func(*pad, *actors.Activation) error {
						if wrong.Load() {
							spring("hook "+way, place)
						}
						return nil
					})
					if place == "migration" {
						p.Migrate(1, func(s json.RawMessage) (json.RawMessage, error) {
							if wrong.Load() {
								spring("migration "+way, place)
							}
							return s, nil
						})
					}
					cfg := config(p)
					cfg.Workers = 1
					rt := start(t, db, cfg)
					_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "new")
					failed := as[*actors.SetupFailed](t, err)
					as[*actors.Panicked](t, failed)
					wrong.Store(false)
					if n, err := p.write.Wait(t.Context(), rt, failed.Message); n == 0 || err != nil || attempt != 1 {
						t.Errorf("once it is mended: %d, %v, at attempt %d; want the first", n, err, attempt)
					}
				})
			})
		}
	}
}

// D23: a policy that panics refuses, and says so to nobody but the log.
func TestD23PolicyThatPanics(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := definePads(nil)
		cfg := config(p)
		cfg.Policy.Message = func(context.Context, actors.Request) error { panic("no rules") }
		rt := start(t, openStore(t), cfg)
		_, err := p.write.Ask(t.Context(), rt, p.Ref("a"), "x")
		if !errors.Is(err, actors.ErrUnauthorized) || strings.Contains(err.Error(), "rules") {
			t.Errorf("got %v", err)
		}
	})
}

// D23: a deactivation hook that goes wrong, or is slow, holds up nobody.
func TestD23DeactivationHooks(t *testing.T) {
	for _, way := range []string{"panic", "Goexit", "slow"} {
		t.Run(way, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				p := definePads(nil)
				hooks := 0
				p.OnDeactivate(func(s *pad) {
					if !s.has("first") {
						return
					}
					hooks++
					if way == "slow" {
						time.Sleep(time.Minute)
					}
					spring("hook "+way, "hook")
				})
				cfg := config(p)
				cfg.Activations, cfg.Shutdown = 1, 2*time.Minute
				rt := start(t, openStore(t), cfg)
				p.ask(t, rt.Runtime, "a", "first")
				begun := time.Now()
				for i := range 3 {
					p.ask(t, rt.Runtime, fmt.Sprint(i), "second")
				}
				if took := time.Since(begun); took > 0 {
					t.Errorf("other actors waited %v for a hook", took)
				}
				pass(2 * time.Minute)
				if hooks != 1 {
					t.Errorf("the hook ran %d times, want once", hooks)
				}
			})
		})
	}
}
