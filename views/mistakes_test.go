package views_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/views"
	. "github.com/lockstep-go/lockstep/views/testdata/fixture"
)

// What Go cannot express fails at the first render, with a sentence that names both types.
func TestMisplacedSaysBothTypes(t *testing.T) {
	s := carts("a", Cart{})
	s.states[actors.Address{Type: "stock", ID: "mug"}] = Stock{}
	onPage := views.WithPage(t.Context(), page(t, s))
	try1 := func(ctx context.Context, c templ.Component) error { _, err := try(ctx, c); return err }
	inStock := func(c templ.Component) error { _, err := insideOf(onPage, Stocks.Ref("mug"), c); return err }
	inCart := func(c templ.Component) error { _, err := inside(t, s, Carts.Ref("a"), c); return err }
	for _, tc := range []struct {
		err  error
		want string
	}{
		{inStock(Summary), "component cart.summary inside the views.Object of a stock: it shows a cart"},
		{inStock(views.Value(Count)), "value cart.count inside the views.Object of a stock: it shows a cart"},
		{inStock(Line.Each("k", LineParams{})), "component cart.line inside the views.Object of a stock"},
		{inStock(views.Form(Add, "/x")), "form of cart.add inside the views.Object of a stock"},
		{try1(onPage, Summary), "component cart.summary outside any views.Object: it shows a cart"},
		{try1(onPage, views.Value(Count)), "value cart.count outside any views.Object"},
		{try1(onPage, views.Form(Add, "/x")), "form of cart.add outside any views.Object"},
		{try1(t.Context(), Summary), "component cart.summary on a page without the middleware"},
		{try1(t.Context(), views.Value(Count)), "value cart.count on a page without the middleware"},
		{try1(t.Context(), views.Object(Carts.Ref("a"))), "views.Object of a cart on a page without the middleware"},
		{try1(t.Context(), views.Script()), "views.Script on a page without the middleware"},
		{inCart(templ.Join(views.Form(Add, "/x"), views.Form(Add, "/x"))), "form of cart.add stands on the page twice"},
		{inCart(views.Form(Add, "/x", views.FormAttrs(templ.Attributes{"Method": "get"}))), "attribute method is the form's own"},
	} {
		if tc.err == nil || !strings.Contains(tc.err.Error(), tc.want) {
			t.Errorf("got %v, want it to say %q", tc.err, tc.want)
		}
	}
}

func TestAudiencesDoNotMix(t *testing.T) {
	s := oddities(Odd{})
	for _, tc := range []struct {
		c    templ.Component
		want string
	}{
		{HoldsMine, "component odd.grumpy depends on who looks, but stands in component odd.holds_mine"},
		{Wrapped, "component odd.wrapped: its root element is that of another component"},
		{Itself, "does one show itself?"},
	} {
		if _, err := inside(t, s, Oddities.Ref("o"), tc.c); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v: %v, want %q", tc.c, err, tc.want)
		}
	}
	if _, err := inside(t, s, Oddities.Ref("o"), MineHoldsShared); err != nil {
		t.Errorf("a shared component in a per-viewer one: %v", err)
	}
}

// G13: what reads must not write.
func TestReadingMustNotChangeState(t *testing.T) {
	s := oddities(Odd{Words: []string{"b", "a"}})
	at := actors.Address{Type: "odd", ID: "o"}
	r := pusher(t, s)
	for _, tc := range []struct {
		c      templ.Component
		target string
		by     string
	}{
		{SortsRead, "sorts_read", "sorted"},
		{SortsSeen, "sorts_seen", "sorts_seen"},
		{views.Value(Counted), "=counted", "counted"},
	} {
		for range 2 {
			_, err := push(t, r, s, at, wire.Target{Component: tc.target}, Viewer{})
			if changed, ok := errors.AsType[*actors.QueryChangedState](err); !ok || changed.Operation != tc.by || changed.Type != "odd" {
				t.Errorf("push of %s: %v, want a QueryChangedState that names %s", tc.target, err, tc.by)
			}
			_, err = inside(t, s, Oddities.Ref("o"), tc.c)
			if changed, ok := errors.AsType[*actors.QueryChangedState](err); !ok || changed.Operation != tc.by {
				t.Errorf("page with %s: %v, want a QueryChangedState that names %s", tc.target, err, tc.by)
			}
		}
	}
	if _, err := inside(t, s, Oddities.Ref("o"), Fine); err != nil {
		t.Errorf("a component that only reads: %v", err)
	}
}

func TestValueFormats(t *testing.T) {
	type name string
	for _, tc := range []struct {
		value any
		want  string
	}{
		{"a <b>", "a &lt;b&gt;"}, {name("n"), "n"}, {"\xff", "\uFFFD"}, {7, "7"}, {int64(9007199254740993), "9007199254740993"},
		{uint64(18446744073709551615), "18446744073709551615"}, {1.5, "1.5"}, {1e21, "1e+21"}, {float32(0.1), "0.1"}, {true, "true"},
		{new(5), "5"}, {(*int)(nil), ""}, {nil, ""}, {90 * time.Minute, "1h30m0s"},
		{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), "2026-01-02 03:04:05 +0000 UTC"},
	} {
		typ := actors.Define("v", func() Odd { return Odd{} })
		o := actors.Shared(typ, "v", func(Odd) any { return tc.value })
		got, err := inside(t, &store{}, typ.Ref("x"), views.Value(o))
		if err != nil || !strings.Contains(got, `">`+tc.want+`</span>`) {
			t.Errorf("%#v is shown as %s, %v; want %s", tc.value, got, err, tc.want)
		}
	}
	_, err := inside(t, oddities(Odd{}), Oddities.Ref("o"), views.Value(List))
	if err == nil || !strings.Contains(err.Error(), "value odd.list: a []string is no text") {
		t.Errorf("a list as a value: %v", err)
	}
}

func TestNewerStateIsTold(t *testing.T) {
	s := newer{}
	ctx := views.WithPage(t.Context(), views.Page{Reader: s, Sealer: sealer(t)})
	if _, err := try(ctx, views.Object(Carts.Ref("a"))); !isNewer(err) {
		t.Errorf("page: %v, want *actors.StateTooNew", err)
	}
	snap, _ := s.ReadCall(t.Context(), "cart", "a")
	_, err := pusher(t, &store{}).Render(t.Context(), views.Request{
		Actor: actors.Address{Type: "cart", ID: "a"}, Target: wire.Target{Component: "summary"}, Snapshot: snap,
	})
	if !isNewer(err) {
		t.Errorf("push: %v, want *actors.StateTooNew", err)
	}
}

type newer struct{}

func (newer) ReadCall(context.Context, string, string) (actors.Snapshot, error) {
	return actors.Snapshot{Version: 2, State: []byte(`{}`)}, nil
}

func isNewer(err error) bool {
	_, ok := errors.AsType[*actors.StateTooNew](err)
	return ok
}

// A server can keep a response with a token out of caches before the token is written.
func TestSealedIsAskedFirst(t *testing.T) {
	p := page(t, carts("a", Cart{}))
	p.Sealed = func() error { return errors.New("too late") }
	text, err := try(views.WithPage(t.Context(), p), views.Object(Carts.Ref("a")))
	if err == nil || text != "" {
		t.Errorf("a token was written: %q, %v", text, err)
	}
}
