package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
)

// ledger has had two migrations: amounts were texts once, and had no currency.
type ledger struct {
	Amounts  []int  `json:"amounts"`
	Currency string `json:"currency"`
}

func newLedgers() *actors.Type[ledger] {
	l := actors.Define("ledger", func() ledger { return ledger{Currency: "EUR"} })
	l.Migrate(2, func(state json.RawMessage) (json.RawMessage, error) {
		var fields map[string]any
		if err := actors.DecodeDocument("state", state, &fields); err != nil {
			return nil, err
		}
		fields["currency"] = "DEM"
		return json.Marshal(fields)
	})
	l.Migrate(1, func(state json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(strings.ReplaceAll(strings.ReplaceAll(string(state), `["`, `[`), `"]`, `]`)), nil
	})
	return l
}

func TestG29MigrationsRunOneStepAtATime(t *testing.T) {
	def := newLedgers().Definition()
	if err := def.Check(); err != nil || def.StateVersion() != 3 {
		t.Fatalf("version %d, %v; want 3", def.StateVersion(), err)
	}
	for _, c := range []struct {
		version int
		stored  string
		want    string
	}{
		{1, `{"amounts":["9007199254740993"]}`, "&{[9007199254740993] DEM}"},
		{2, `{"amounts":[2]}`, "&{[2] DEM}"},
		{3, `{"amounts":[3],"currency":"USD"}`, "&{[3] USD}"},
		{3, `{"amounts":[3]}`, "&{[3] }"}, // decoded into zero, never onto the fresh state
		{3, `{"amounts":[3],"of_another_build":true}`, "&{[3] }"},
		{0, "", "&{[] EUR}"}, // no row: the fresh state, whatever the version
	} {
		var stored json.RawMessage
		if c.stored != "" {
			stored = json.RawMessage(c.stored)
		}
		state, err := def.Load(c.version, stored)
		if err != nil || fmt.Sprint(state) != c.want {
			t.Errorf("version %d of %s loads as %v, %v; want %s", c.version, c.stored, state, err, c.want)
		}
	}
}

func TestG29NewerStateIsRefused(t *testing.T) {
	_, err := newLedgers().Definition().Load(4, json.RawMessage(`not even JSON`))
	newer, ok := errors.AsType[*actors.StateTooNew](err)
	if !ok || *newer != (actors.StateTooNew{Type: "ledger", Stored: 4, Known: 3}) {
		t.Errorf("got %v, want a *StateTooNew", err)
	}
}

func TestLoadReportsWhatFailed(t *testing.T) {
	step := func(do func(json.RawMessage) (json.RawMessage, error)) *actors.Definition {
		l := actors.Define("ledger", func() ledger { return ledger{} })
		l.Migrate(1, do)
		return l.Definition()
	}
	for _, c := range []struct {
		name    string
		def     *actors.Definition
		version int
		stored  string
		want    string
	}{
		{"step fails", step(func(json.RawMessage) (json.RawMessage, error) { return nil, errors.New("unreadable") }), 1, `{}`, "from version 1: unreadable"},
		{"step panics", step(func(json.RawMessage) (json.RawMessage, error) { panic("torn page") }), 1, `{}`, "torn page"},
		{"step yields nonsense", step(func(json.RawMessage) (json.RawMessage, error) { return json.RawMessage(`{`), nil }), 1, `{}`, "not valid JSON"},
		{"step yields nothing", step(func(json.RawMessage) (json.RawMessage, error) { return nil, nil }), 1, `{}`, "not valid JSON"},
		{"state of another shape", newLedgers().Definition(), 3, `{"amounts":"many"}`, "amounts"},
		{"version before the first", newLedgers().Definition(), 0, `{}`, "state version 0"},
	} {
		_, err := c.def.Load(c.version, json.RawMessage(c.stored))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want it to say %q", c.name, err, c.want)
		}
	}
}

// D23: a panic, also of nil, and a Goexit end as an error where they happen.
func TestD23HandlersPanic(t *testing.T) {
	odd := fmt.Stringer(stringerFunc(func() string { panic("no text either") }))
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"value", func() { panic("out of eggs") }, "out of eggs"},
		{"nil", func() { panic(nil) }, "nil"},
		{"error", func() { panic(errors.New("deep trouble")) }, "deep trouble"},
		{"runtime error", func() { var m map[string]int; m["a"] = 1 }, "nil map"},
		{"Goexit", runtime.Goexit, "Goexit"},
		{"value whose text panics", func() { panic(odd) }, "no text either"},
		{"text that no database takes", func() { panic("a\x00b\xff") }, "a\uFFFDb\uFFFD"},
		{"endless text", func() { panic(strings.Repeat("x", 1<<20)) }, "xxx"},
	} {
		t.Run(c.name, func(t *testing.T) {
			kitchen := actors.Define("kitchen", func() box { return box{} })
			cook := actors.Bare(kitchen, "cook")
			cook.Handle(func(*box, *actors.Turn[box]) error { c.do(); return nil })
			look := actors.Query(kitchen, "look", func(box) int { c.do(); return 0 })
			bake := actors.Effect[int, int](kitchen, "bake")
			chef := bake.By(func(context.Context, actors.EffectCall[int]) (int, error) { c.do(); return 0, nil })
			def := kitchen.Definition()
			state, err := def.Load(0, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, handled := def.Operation(cook.Name()).Perform(state, &actors.Execution{Context: t.Context()}, actors.None{})
			_, queried := def.Operation(look.Name()).Perform(state, &actors.Execution{Context: t.Context()}, actors.None{})
			_, performed := chef.Perform(t.Context(), actors.EffectAttempt{Arguments: json.RawMessage(`1`)})
			for what, err := range map[string]error{"handler": handled, "query": queried, "effect": performed} {
				p, ok := errors.AsType[*actors.Panicked](err)
				if !ok || !strings.Contains(p.Value, c.want) {
					t.Errorf("%s: got %v, want a *Panicked with %q", what, err, c.want)
					continue
				}
				if len(p.Value) > 8<<10 || len(p.Stack) > 8<<10 || p.Stack == "" {
					t.Errorf("%s: %d bytes of text and %d of stack, want up to 8 KiB of each", what, len(p.Value), len(p.Stack))
				}
			}
		})
	}
}

type stringerFunc func() string

func (f stringerFunc) String() string { return f() }

func TestD23HooksAndObservablesPanic(t *testing.T) {
	shop := actors.Define("shop", func() box { return box{} })
	shop.OnActivate(func(*box, *actors.Activation) error { panic("cannot open") })
	shop.OnDeactivate(func(*box) { panic("cannot close") })
	actors.Shared(shop, "stock", func(box) int { panic("cannot count") })
	def := shop.Definition()
	state := &box{}
	_, observed := def.Observables()[0].Value(state)
	for want, err := range map[string]error{
		"cannot open":  def.Activate(state, &actors.Activation{ID: "a"}),
		"cannot close": def.Deactivate(state),
		"cannot count": observed,
	} {
		if p, ok := errors.AsType[*actors.Panicked](err); !ok || p.Value != want {
			t.Errorf("got %v, want a *Panicked with %q", err, want)
		}
	}
}

func TestCleanText(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nof two lines": "plain\ttext\nof two lines",
		"a\x00b":                    "a\uFFFDb",
		"a\xffb":                    "a\uFFFDb",
		"bell\a del\x7f":            "bell\uFFFD del\uFFFD",
		"":                          "",
	} {
		if got := actors.CleanText(in, 1000); got != want {
			t.Errorf("%q is cleaned to %q, want %q", in, got, want)
		}
	}
	if got := actors.CleanText("ééé", 5); got != "éé" {
		t.Errorf("cut to 5 bytes it is %q, want whole runes", got)
	}
}
