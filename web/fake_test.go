package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/views/testdata/fixture"
	"github.com/lockstep-go/lockstep/web"
)

// fakeRuntime runs messages at once, in memory. It stores every message by its key, as the real one does.
type fakeRuntime struct {
	types []actors.AnyType

	mu        sync.Mutex
	instances map[actors.Address]*instance
	messages  []actors.Call
	fail      error // answers every Ask
	refuse    func(ctx context.Context, r actors.Request) error
	follow    []func(actors.Broadcast)
	heard     []func(actors.Revoked)
	running   chan struct{} // closed when Run begins
	drained   bool
}

type instance struct {
	revision int64
	state    json.RawMessage
	keys     map[string]outcome
}

type outcome struct {
	call   actors.Call
	result json.RawMessage
	err    error
}

func newFake(types ...actors.AnyType) *fakeRuntime {
	return &fakeRuntime{types: types, instances: map[actors.Address]*instance{}, running: make(chan struct{})}
}

func (f *fakeRuntime) Definition(typ string) *actors.Definition {
	for _, t := range f.types {
		if t.Definition().Name == typ {
			return t.Definition()
		}
	}
	return nil
}

func (f *fakeRuntime) AskCall(ctx context.Context, c actors.Call) (json.RawMessage, error) {
	if err := f.allowed(ctx, actors.Request{Type: c.Type, ID: c.ID, Operation: c.Operation, Input: c.Input}); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	at := actors.Address{Type: c.Type, ID: c.ID}
	i := f.instances[at]
	if i == nil {
		i = &instance{keys: map[string]outcome{}}
		f.instances[at] = i
	}
	if before, used := i.keys[c.IdempotencyKey]; used && c.IdempotencyKey != "" {
		switch {
		case before.call.Operation != c.Operation:
			return nil, &actors.IdempotencyConflict{Differs: "operation"}
		case string(before.call.Arguments) != string(c.Arguments):
			return nil, &actors.IdempotencyConflict{Differs: "arguments"}
		}
		return before.result, before.err
	}
	f.messages = append(f.messages, c)
	i.revision++
	result, err := f.turn(i, c)
	i.keys[c.IdempotencyKey] = outcome{c, result, err}
	if err == nil {
		for _, news := range f.follow {
			news(actors.Broadcast{ID: "b" + strconv.FormatInt(i.revision, 10), Actor: at, Instance: "i-" + c.ID,
				Revision: i.revision, Previous: i.revision - 1, Message: "m" + strconv.FormatInt(i.revision, 10), Names: names(f.Definition(c.Type))})
		}
	}
	return result, err
}

func names(d *actors.Definition) (all []string) {
	for _, p := range d.Observables() {
		all = append(all, p.Name)
	}
	return all
}

func (f *fakeRuntime) turn(i *instance, c actors.Call) (json.RawMessage, error) {
	def := f.Definition(c.Type)
	state, err := def.Load(1, i.state)
	if err != nil {
		return nil, err
	}
	op := def.Operation(c.Operation)
	in, err := op.Decode(c.Arguments)
	if err != nil {
		return nil, err
	}
	out, err := op.Perform(state, &actors.Execution{Context: context.Background(), Now: time.Now(), ActorID: c.ID}, in)
	if _, ok := errors.AsType[*actors.Rejected](err); ok {
		return nil, err
	}
	if err != nil {
		return nil, &actors.MessageFailed{Attempts: 5, Kind: "error"}
	}
	if i.state, err = actors.EncodeDocument("state", state, 1<<20); err != nil {
		return nil, err
	}
	return actors.EncodeDocument("result", out, 1<<20)
}

func (f *fakeRuntime) TellCall(context.Context, actors.Call) (actors.MessageRef, error) {
	return actors.MessageRef{}, errors.ErrUnsupported
}

func (f *fakeRuntime) TellTxCall(context.Context, actors.Tx, actors.Call) (actors.MessageRef, error) {
	return actors.MessageRef{}, errors.ErrUnsupported
}

func (f *fakeRuntime) WaitCall(context.Context, actors.MessageRef) (json.RawMessage, error) {
	return nil, errors.ErrUnsupported
}

func (f *fakeRuntime) DestroyCall(context.Context, string, string) (bool, error) {
	return false, errors.ErrUnsupported
}

func (f *fakeRuntime) allowed(ctx context.Context, r actors.Request) error {
	if f.refuse == nil {
		return nil
	}
	return f.refuse(ctx, r)
}

func (f *fakeRuntime) ReadCall(ctx context.Context, typ, id string) (actors.Snapshot, error) {
	if err := f.allowed(ctx, actors.Request{Type: typ, ID: id, Operation: actors.SnapshotOp}); err != nil {
		return actors.Snapshot{}, err
	}
	return f.Committed(ctx, actors.Address{Type: typ, ID: id})
}

func (f *fakeRuntime) Committed(_ context.Context, a actors.Address) (actors.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.instances[a]
	if i == nil {
		return actors.Snapshot{}, nil
	}
	return actors.Snapshot{Stamp: stamp(a, i), Version: 1, State: i.state, Broadcast: i.revision}, nil
}

func stamp(a actors.Address, i *instance) actors.Stamp {
	return actors.Stamp{Instance: "i-" + a.ID, Revision: i.revision, Message: "m" + strconv.FormatInt(i.revision, 10)}
}

func (f *fakeRuntime) Stamps(_ context.Context, of []actors.Address) ([]actors.Progress, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]actors.Progress, len(of))
	for n, a := range of {
		if i := f.instances[a]; i != nil {
			out[n] = actors.Progress{Stamp: stamp(a, i), Committed: i.revision}
		}
	}
	return out, nil
}

func (f *fakeRuntime) Revoke(_ context.Context, r actors.Revocation) error {
	f.mu.Lock()
	heard := f.heard
	f.mu.Unlock()
	for _, h := range heard {
		h(r.Digests())
	}
	return nil
}

func (f *fakeRuntime) Revocations(context.Context, int64) ([]actors.Revoked, int64, error) {
	return nil, 0, nil
}

func (f *fakeRuntime) FollowRevocations(heard func(actors.Revoked)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.heard = append(f.heard, heard)
	return func() {}
}

func (f *fakeRuntime) Mixed(context.Context) (bool, error) { return false, nil }

func (f *fakeRuntime) MaySubscribe(ctx context.Context, r actors.Request) error {
	return f.allowed(ctx, r)
}
func (f *fakeRuntime) MayQuery(ctx context.Context, r actors.Request) error { return f.allowed(ctx, r) }

func (f *fakeRuntime) Follow(news func(actors.Broadcast)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.follow = append(f.follow, news)
	return func() {}
}

func (f *fakeRuntime) Run(ctx context.Context) error {
	close(f.running)
	<-ctx.Done()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drained = true
	return nil
}

func (f *fakeRuntime) Ready() bool {
	select {
	case <-f.running:
		return true
	default:
		return false
	}
}

// sent is how many messages were stored.
func (f *fakeRuntime) sent() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.messages)
}

// put commits a state without a message.
func (f *fakeRuntime) put(t testing.TB, typ, id string, state any) {
	t.Helper()
	doc, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := actors.Address{Type: typ, ID: id}
	i := f.instances[at]
	if i == nil {
		i = &instance{keys: map[string]outcome{}}
		f.instances[at] = i
	}
	i.revision++
	i.state = doc
}

var testKeys = [][]byte{[]byte("0123456789abcdef0123456789abcdef")}

// identify is the middleware of an application that knows its visitors by a header.
func identify(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := fixture.Viewer{Name: r.Header.Get("X-User"), Role: r.Header.Get("X-Role"), Language: r.Header.Get("X-Lang")}
		next.ServeHTTP(w, r.WithContext(fixture.WithViewer(r.Context(), v)))
	})
}

func who(r *http.Request) web.Identity {
	return web.Identity{Principal: fixture.ViewerOf(r.Context()).Name, Session: r.Header.Get("X-Session")}
}

func newLive(t testing.TB, rt web.Runtime, adjust ...func(*web.Config)) *web.Live {
	t.Helper()
	cfg := web.Config{Keys: testKeys, Identify: who, Build: "test"}
	for _, f := range adjust {
		f(&cfg)
	}
	live, err := web.New(rt, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return live
}

// cartPage is the page of one cart.
func cartPage(r *http.Request) (templ.Component, error) {
	return fixture.CartPage(myCart(r), "mug", "pen"), nil
}

func myCart(r *http.Request) actors.Ref[fixture.Cart] {
	if id := chi.URLParam(r, "id"); id != "" {
		return fixture.Carts.Ref(id)
	}
	return fixture.Carts.Ref("cart-of-" + fixture.ViewerOf(r.Context()).Name)
}

// shop is the fixture's application.
func shop(live *web.Live) chi.Router {
	r := chi.NewRouter()
	r.Use(identify, live.Middleware)
	live.Mount(r)
	target := func(r *http.Request) (actors.Ref[fixture.Cart], error) { return myCart(r), nil }
	r.Get("/cart", live.Page(cartPage))
	r.Head("/cart", live.Page(cartPage))
	r.Get("/cart/{id}", live.Page(cartPage))
	r.Post("/cart/add", web.Action(live, fixture.Add, target, web.Answer{Next: "/cart", Again: cartPage}))
	r.Post("/cart/close", web.Action(live, fixture.Close, target, web.Answer{Next: "/cart", Again: cartPage}))
	r.Post("/cart/note", web.Action(live, fixture.Note, target, web.Answer{Next: "/cart"}))
	return r
}

type header map[string]string

func newRequest(method, path string) *http.Request { return httptest.NewRequest(method, path, nil) }

func get(t testing.TB, h http.Handler, path string, headers header) *httptest.ResponseRecorder {
	t.Helper()
	return do(t, h, httptest.NewRequest(http.MethodGet, path, nil), headers)
}

func post(t testing.TB, h http.Handler, path, body string, headers header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://example.com")
	return do(t, h, r, headers)
}

func do(t testing.TB, h http.Handler, r *http.Request, headers header) *httptest.ResponseRecorder {
	t.Helper()
	for k, v := range headers {
		if v == "" {
			r.Header.Del(k)
		} else {
			r.Header.Set(k, v)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func body(w *httptest.ResponseRecorder) string {
	b, err := io.ReadAll(w.Result().Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
