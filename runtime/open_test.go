package runtime_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
)

// What cannot work fails when the runtime opens, naming the culprit, and leaves no process behind.
func TestOpenNamesEachMistake(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := openStore(t)
		o := defineOrders()
		perform := func(context.Context, actors.EffectCall[order]) (order, error) { return order{}, nil }
		stranger := actors.Define("stranger", func() pad { return pad{} })
		alike := actors.Effect[int, order](stranger, "perform")
		elsewhere := actors.Effect[int, int](stranger, "elsewhere")
		silent := actors.Define("silent", func() pad { return pad{} })
		actors.Bare(silent, "listen")
		for _, c := range []struct {
			name    string
			change  func(*runtime.Config)
			culprit string
		}{
			{"nothing wrong", func(*runtime.Config) {}, ""},
			{"effect that nobody performs", func(c *runtime.Config) { c.Effects = nil }, `effect "perform" is performed by nobody`},
			{"effect performed twice", func(c *runtime.Config) { c.Effects = append(c.Effects, c.Effects[0]) }, `effect "perform" is performed twice`},
			{"effect of other types", func(c *runtime.Config) {
				c.Effects = []actors.Executor{alike.By(func(context.Context, actors.EffectCall[int]) (order, error) { return order{}, nil })}
			}, `effect "perform" is performed as int`},
			{"effect that no type asks for", func(c *runtime.Config) {
				c.Effects = append(c.Effects, elsewhere.By(func(context.Context, actors.EffectCall[int]) (int, error) { return 0, nil }))
			}, `effect "elsewhere" is performed but no type asks for it`},
			{"one effect name for two things", func(c *runtime.Config) { c.Types = append(c.Types, stranger) }, `effect "perform" is asked for with different types`},
			{"two types of one name", func(c *runtime.Config) { c.Types = append(c.Types, o) }, `two actor types are named "order"`},
			{"message without a handler", func(c *runtime.Config) { c.Types = append(c.Types, silent) }, `silent: message "listen" has no handler`},
			// D14 (c): durations that contradict each other.
			{"lease below renewal", func(c *runtime.Config) { c.Lease = time.Second }, "Lease (1s) must be longer than Renew (10s)"},
			{"stale below heartbeat", func(c *runtime.Config) { c.Stale = 20 * time.Second }, "Stale (20s) must be at least twice Heartbeat (15s)"},
			{"keys shorter than patience", func(c *runtime.Config) { c.MessageRetention = time.Second }, "MessageRetention (1s)"},
			{"negative lease", func(c *runtime.Config) { c.Lease = -time.Second }, "Lease is -1s"},
			{"negative workers", func(c *runtime.Config) { c.Workers = -1 }, "Workers is -1"},
			{"negative attempts", func(c *runtime.Config) { c.Attempts = -1 }, "Attempts is -1"},
		} {
			cfg := o.config(perform)
			c.change(&cfg)
			rt, err := runtime.Open(t.Context(), db, cfg)
			switch {
			case c.culprit == "" && err != nil:
				t.Errorf("%s: %v", c.name, err)
			case c.culprit != "" && (err == nil || !strings.Contains(err.Error(), c.culprit)):
				t.Errorf("%s: %v, want it to say %q", c.name, err, c.culprit)
			}
			if err == nil {
				rt.Close()
			}
		}
		cfg := o.config(perform)
		cfg.Effects, cfg.Lease, cfg.Workers = nil, time.Second, -1
		_, err := runtime.Open(t.Context(), db, cfg)
		for _, culprit := range []string{"performed by nobody", "Lease (1s)", "Workers is -1"} {
			if err == nil || !strings.Contains(err.Error(), culprit) {
				t.Errorf("%v does not also say %q", err, culprit)
			}
		}
		if list, err := db.Processes(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("%d processes are registered, %v; want that of the one that opened", len(list), err)
		}
	})
}

// Several runtimes share a process and a database; each has its own id and definitions.
func TestSeveralRuntimes(t *testing.T) {
	inTime(t, func(t *testing.T) {
		db := openStore(t)
		p, o := definePads(nil), defineOrders()
		pads := start(t, db, config(p))
		orders := start(t, db, o.config(func(_ context.Context, c actors.EffectCall[order]) (order, error) { return c.In, nil }))
		if pads.ProcessID() == orders.ProcessID() {
			t.Error("two runtimes have one id")
		}
		if pads.Definition("order") != nil || orders.Definition("order") != o.Definition() {
			t.Error("a runtime knows the other's types")
		}
		p.ask(t, pads.Runtime, "a", "x")
		o.ask(t, orders.Runtime, "a", 1)
		pass(time.Second)
		p.expect(t, pads.Runtime, "a", "x")
		o.expect(t, orders.Runtime, "a", "placed 1", "done 1: 1")
	})
}
