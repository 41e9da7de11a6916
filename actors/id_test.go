package actors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/actors"
)

// D03: the table of ids, decided before any SQL and so the same on every database.
func TestD03Ids(t *testing.T) {
	hex := func(n int) string {
		var b strings.Builder
		for range n {
			fmt.Fprintf(&b, "%x", rand.IntN(16))
		}
		return b.String()
	}
	for _, c := range []struct {
		name, id string
		rule     string // part of the broken rule; "" is a legal id
	}{
		{"one space", " ", ""},
		{"191 bytes", strings.Repeat("x", 191), ""},
		{"47 emoji", strings.Repeat("🍺", 47), ""},
		{"right-to-left override", "a\u202eb", ""},
		{"path", "../../x", ""},
		{"URL", "http://h/p?q=1#f", ""},
		{"percent escape", "%2F", ""},
		{"no-break space", "a\u00a0", ""},
		{"replacement character", "\uFFFD", ""},
		{"empty", "", "empty"},
		{"192 bytes", strings.Repeat("x", 192), "191 bytes"},
		{"48 emoji", strings.Repeat("😀", 48), "191 bytes"},
		{"2,000 hex digits", hex(2000), "191 bytes"},
		{"NUL", "a\x00b", "control"},
		{"line feed", "a\nb", "control"},
		{"delete", "a\x7f", "control"},
		{"C1 control", "a\u0085", "control"},
		{"invalid UTF-8", "\xff", "UTF-8"},
		{"truncated rune", "a\xe2\x82", "UTF-8"},
		{"surrogate", "\xed\xa0\x80", "UTF-8"},
	} {
		for what, check := range map[string]func(string) error{
			"actor id":        actors.CheckID,
			"idempotency key": func(s string) error { return actors.CheckKey("idempotency key", s) },
		} {
			err := check(c.id)
			if c.rule == "" {
				if err != nil {
					t.Errorf("%s as %s: refused: %v", c.name, what, err)
				}
				continue
			}
			invalid, ok := errors.AsType[*actors.InvalidID](err)
			if !ok || invalid.What != what || invalid.Bytes != len(c.id) || !strings.Contains(invalid.Rule, c.rule) {
				t.Errorf("%s as %s: %v, want an *InvalidID about %q with %d bytes", c.name, what, err, c.rule, len(c.id))
				continue
			}
			if len(c.id) > 2 && strings.Contains(err.Error(), c.id) {
				t.Errorf("%s: the error repeats the text: %v", c.name, err)
			}
			if !actors.IsPermanent(err) {
				t.Errorf("%s: not permanent", c.name)
			}
		}
	}
}

// An id is refused before the client hears of the call, whichever verb it comes by.
func TestD03EveryVerbRefusesAnInvalidID(t *testing.T) {
	ctx, client := t.Context(), &recorder{}
	ref := boxes.Ref("a\x00b")
	verbs := map[string]func() error{
		"Ask":       func() error { _, err := put.Ask(ctx, client, ref, 1); return err },
		"Tell":      func() error { _, err := put.Tell(ctx, client, ref, 1); return err },
		"TellTx":    func() error { _, err := put.TellTx(ctx, client, nil, ref, 1); return err },
		"query":     func() error { _, err := sum.Ask(ctx, client, ref); return err },
		"bare Ask":  func() error { return empty.Ask(ctx, client, ref) },
		"bare Tell": func() error { _, err := empty.Tell(ctx, client, ref); return err },
		"Snapshot":  func() error { _, err := ref.Snapshot(ctx, client); return err },
		"Destroy":   func() error { _, err := ref.Destroy(ctx, client); return err },
		"key":       func() error { return empty.Ask(ctx, client, boxes.Ref("a"), actors.IdempotencyKey("k\xff")) },
		"empty key": func() error { return empty.Ask(ctx, client, boxes.Ref("a"), actors.IdempotencyKey("")) },
	}
	for name, call := range verbs {
		if _, ok := errors.AsType[*actors.InvalidID](call()); !ok {
			t.Errorf("%s: %v, want an *InvalidID", name, call())
		}
	}
	if len(client.calls) > 0 {
		t.Errorf("the client heard of %d calls", len(client.calls))
	}
}

// Names that a program gives are stored and shown: what a DOM, a topic or a column might change is refused.
func TestNames(t *testing.T) {
	for name, legal := range map[string]bool{
		"a": true, "Stock2": true, "hold_item": true, strings.Repeat("n", 64): true,
		"": false, "_a": false, "2a": false, "a-b": false, "a.b": false, "a b": false, "a:b": false, "é": false,
		"a%d": false, "a\x00": false, strings.Repeat("n", 65): false, "__snapshot__": false,
	} {
		for what, err := range map[string]error{
			"type": actors.Define(name, func() box { return box{} }).Definition().Check(),
			"operation": checkWith(func(b *actors.Type[box]) {
				actors.Bare(b, name).Handle(func(*box, *actors.Turn[box]) error { return nil })
			}),
			"query":      checkWith(func(b *actors.Type[box]) { actors.Query(b, name, box.Sum) }),
			"observable": checkWith(func(b *actors.Type[box]) { actors.Shared(b, name, box.Sum) }),
			"effect":     checkWith(func(b *actors.Type[box]) { actors.Effect[int, int](b, name) }),
		} {
			if legal != (err == nil) {
				t.Errorf("%s named %q: legal is %v, Check says %v", what, name, legal, err)
			}
			if err != nil && strings.Contains(err.Error(), "%!") {
				t.Errorf("%s named %q: garbled: %v", what, name, err)
			}
		}
	}
}

func checkWith(add func(*actors.Type[box])) error {
	typ := actors.Define("box", func() box { return box{} })
	add(typ)
	return typ.Definition().Check()
}
