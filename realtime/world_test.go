package realtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// world is a runtime and a registry of components in memory: commits move revisions, write broadcast rows and tell
// those who follow, as the real ones do.
type world struct {
	mu        sync.Mutex
	rows      map[actors.Address]*row
	follow    map[int]func(actors.Broadcast)
	next      int
	streams   bool // pages use streams and no sockets
	reads     int  // of snapshots
	compares  int  // of stamps
	policies  int  // asked
	renders   map[string]int
	readErr   error
	allow     func(ctx context.Context, r actors.Request) error // both policies; nil allows
	deliver   func(tell func(actors.Broadcast), b actors.Broadcast)
	parts     map[string]part
	beforeGet func() // runs at the start of every read, outside the lock
	afterGet  func() // runs at its end

	mixed        bool // builds are at work on the database
	askedMixed   int
	withdrawn    []actors.Revoked
	revoking     map[int]func(actors.Revoked)
	revokedReads int
}

type row struct {
	actors.Snapshot
	broadcastBy string
}

// part is a component of the world.
type part struct {
	audience realtime.Audience
	observes []string
	group    func(context.Context) string
	render   func(ctx context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error)
	items    func(ctx context.Context, s state) []wire.Item // of a list, instead of render
	query    string
}

type state map[string]int

type viewerKey struct{}

func viewerOf(ctx context.Context) string {
	name, _ := ctx.Value(viewerKey{}).(string)
	return name
}

// roleOf is the group that a viewer belongs to.
func roleOf(ctx context.Context) string { return strings.TrimRight(viewerOf(ctx), "0123456789") }

var errRefused = fmt.Errorf("no: %w", actors.ErrUnauthorized)

func newWorld() *world {
	w := &world{rows: map[actors.Address]*row{}, follow: map[int]func(actors.Broadcast){}, revoking: map[int]func(actors.Revoked){}, renders: map[string]int{}}
	w.deliver = func(tell func(actors.Broadcast), b actors.Broadcast) { tell(b) }
	value := func(name string) func(context.Context, realtime.RenderRequest, state) (string, []wire.Target, error) {
		return func(_ context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
			return fmt.Sprintf("%s %d", html.EscapeString(r.Target.Key), s[name]), nil, nil
		}
	}
	w.parts = map[string]part{
		"=n":   {observes: []string{"n"}, render: value("n")},
		"n":    {observes: []string{"n"}, render: value("n")},
		"m":    {observes: []string{"m"}, render: value("m")},
		"line": {observes: []string{"n"}, render: value("n")},
		"greeting": {audience: realtime.PerViewer, observes: []string{"n"},
			render: func(ctx context.Context, _ realtime.RenderRequest, s state) (string, []wire.Target, error) {
				return fmt.Sprintf("%s has %d", viewerOf(ctx), s["n"]), nil, nil
			}},
		"staff": {audience: realtime.ByGroup, observes: []string{"n"},
			group: roleOf,
			render: func(ctx context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
				return fmt.Sprintf("%s group, %d%s", r.Group, s["n"], viewerOf(ctx)), nil, nil
			}},
		// The items of lists are as many, and in such an order, as m says; what is in every third one depends on n.
		"list":  {observes: []string{"n", "m"}, items: func(_ context.Context, s state) []wire.Item { return itemsOf("", s) }},
		"tasks": {audience: realtime.PerViewer, observes: []string{"n", "m"}, items: func(ctx context.Context, s state) []wire.Item { return itemsOf(viewerOf(ctx), s) }},
		"crew": {audience: realtime.ByGroup, observes: []string{"n", "m"}, group: roleOf,
			items: func(ctx context.Context, s state) []wire.Item { return itemsOf("crew"+viewerOf(ctx), s) }},
		// parent shows as many lines as m says, each a target of its own.
		"parent": {observes: []string{"m"}, render: func(_ context.Context, r realtime.RenderRequest, s state) (string, []wire.Target, error) {
			var b strings.Builder
			var inside []wire.Target
			for i := range s["m"] {
				line := wire.Target{Component: "line", Key: fmt.Sprint(i)}
				inside = append(inside, line)
				fmt.Fprintf(&b, "[%s:%d %d]", line.Name(r.Actor), i, s["n"])
			}
			return b.String(), inside, nil
		}},
	}
	return w
}

// change is one turn's effect on an actor.
type change struct {
	set   state
	names []string // observables that changed; none writes a row only if silent is false
	quiet bool     // writes no broadcast row
	lost  bool     // the row is never told
}

// set commits a value of an observable.
func (w *world) set(a actors.Address, name string, value int) {
	w.commit(a, change{set: state{name: value}, names: []string{name}})
}

func (w *world) commit(a actors.Address, c change) {
	w.mu.Lock()
	r := w.rows[a]
	if r == nil {
		w.next++
		r = &row{Snapshot: actors.Snapshot{Stamp: actors.Stamp{Instance: fmt.Sprintf("instance-%d", w.next)}, Version: 1}}
		w.rows[a] = r
	}
	s := decode(r.State)
	maps.Copy(s, c.set)
	w.next++
	r.Revision++
	r.Message, r.State = fmt.Sprintf("message-%d", w.next), must(json.Marshal(s))
	if c.quiet {
		w.mu.Unlock()
		return
	}
	b := actors.Broadcast{ID: fmt.Sprint(w.next), Actor: a, Instance: r.Instance, Revision: r.Revision, Previous: r.Broadcast, Message: r.Message, Names: c.names}
	r.Broadcast, r.broadcastBy = r.Revision, r.Message
	w.mu.Unlock()
	if !c.lost {
		w.tell(b)
	}
}

func (w *world) tell(b actors.Broadcast) {
	w.mu.Lock()
	followers := make([]func(actors.Broadcast), 0, len(w.follow))
	for _, f := range w.follow {
		followers = append(followers, f)
	}
	deliver := w.deliver
	w.mu.Unlock()
	for _, f := range followers {
		deliver(f, b)
	}
}

// backup returns a function that takes an actor back to now, as a database restored from a backup does.
func (w *world) backup(a actors.Address) (restore func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := *w.rows[a]
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.rows[a] = new(kept)
	}
}

func (w *world) destroy(a actors.Address) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.rows, a)
}

func decode(doc json.RawMessage) state {
	s := state{}
	if doc != nil {
		if err := json.Unmarshal(doc, &s); err != nil {
			panic(err)
		}
	}
	return s
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (w *world) snapshot(a actors.Address) actors.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.rows[a]; r != nil {
		return r.Snapshot
	}
	return actors.Snapshot{}
}

// The hub's Source.

func (w *world) Committed(ctx context.Context, a actors.Address) (actors.Snapshot, error) {
	w.mu.Lock()
	w.reads++
	err, before, after := w.readErr, w.beforeGet, w.afterGet
	w.mu.Unlock()
	if before != nil {
		before()
	}
	if err := cmpErr(err, ctx.Err()); err != nil {
		return actors.Snapshot{}, err
	}
	snap := w.snapshot(a)
	if after != nil {
		after()
	}
	return snap, nil
}

func cmpErr(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

func (w *world) Stamps(_ context.Context, of []actors.Address) ([]actors.Progress, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.compares++
	if w.readErr != nil {
		return nil, w.readErr
	}
	stamps := make([]actors.Progress, len(of))
	for i, a := range of {
		if r := w.rows[a]; r != nil {
			stamps[i] = actors.Progress{
				Stamp: actors.Stamp{Instance: r.Instance, Revision: r.Broadcast, Message: r.broadcastBy}, Committed: r.Revision,
			}
		}
	}
	return stamps, nil
}

func (w *world) ask(ctx context.Context, r actors.Request) error {
	w.mu.Lock()
	w.policies++
	allow := w.allow
	w.mu.Unlock()
	if allow == nil {
		return nil
	}
	return allow(ctx, r)
}

func (w *world) Mixed(context.Context) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.askedMixed++
	return w.mixed, w.readErr
}

// Revoke makes a revocation as this process does.
func (w *world) Revoke(_ context.Context, r actors.Revocation) error {
	if r == (actors.Revocation{}) {
		return nil
	}
	w.hearRevoked(w.revokeElsewhere(r, false))
	return nil
}

func (w *world) hearRevoked(r actors.Revoked) {
	w.mu.Lock()
	all := slices.Collect(maps.Values(w.revoking))
	w.mu.Unlock()
	for _, heard := range all {
		heard(r)
	}
}

// revokeElsewhere makes one as another process does, with a hint or without.
func (w *world) revokeElsewhere(r actors.Revocation, hint bool) actors.Revoked {
	d := r.Digests()
	w.with(func() {
		w.next++
		d.ID, d.Position = fmt.Sprintf("revocation-%d", w.next), 1
		if n := len(w.withdrawn); n > 0 {
			d.Position = w.withdrawn[n-1].Position + 1
		}
		w.withdrawn = append(w.withdrawn, d)
	})
	if hint {
		w.hearRevoked(actors.Revoked{})
	}
	return d
}

func (w *world) Revocations(_ context.Context, after int64) (list []actors.Revoked, newest int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revokedReads++
	if w.readErr != nil {
		return nil, 0, w.readErr
	}
	for _, r := range w.withdrawn {
		if newest = r.Position; newest > after && len(list) < 10 {
			list = append(list, r)
		}
	}
	return list, newest, nil
}

func (w *world) FollowRevocations(heard func(actors.Revoked)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	key := w.next
	w.revoking[key] = heard
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.revoking, key)
	}
}

func (w *world) MaySubscribe(ctx context.Context, r actors.Request) error { return w.ask(ctx, r) }
func (w *world) MayQuery(ctx context.Context, r actors.Request) error {
	if r.Operation != actors.SnapshotOp && r.Operation != "points" {
		return errors.New("asked about another operation")
	}
	return w.ask(ctx, r)
}

func (w *world) Follow(news func(actors.Broadcast)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	key := w.next
	w.follow[key] = news
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.follow, key)
	}
}

// The hub's Renderer.

func (w *world) Describe(typ string, t wire.Target) (realtime.Component, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p, ok := w.parts[t.Component]
	return realtime.Component{Audience: p.audience, Observes: p.observes, Group: p.group, List: p.items != nil, Query: p.query}, ok && typ == "cart"
}

func (w *world) Render(ctx context.Context, r realtime.RenderRequest) (realtime.Fragment, error) {
	w.mu.Lock()
	p := w.parts[r.Target.Component]
	w.renders[r.Target.Component]++
	w.mu.Unlock()
	if r.Snapshot.Version > 1 {
		return realtime.Fragment{}, fmt.Errorf("render: %w", &actors.StateTooNew{Type: r.Actor.Type, Stored: r.Snapshot.Version, Known: 1})
	}
	if p.items != nil {
		return listFragment(r, p.items(ctx, decode(r.Snapshot.State))), nil
	}
	text, inside, err := p.render(ctx, r, decode(r.Snapshot.State))
	if err != nil {
		return realtime.Fragment{}, err
	}
	return realtime.Fragment{HTML: fmt.Sprintf(`<p data-ls="%s">%s</p>`, r.Target.Name(r.Actor), text), Nested: inside}, nil
}

// fresh is the HTML that a GET by viewer shows of a target now.
func (w *world) fresh(viewer string, a actors.Address, t wire.Target) string {
	ctx := context.WithValue(context.Background(), viewerKey{}, viewer)
	w.mu.Lock()
	p := w.parts[t.Component]
	w.mu.Unlock()
	r := realtime.RenderRequest{Actor: a, Target: t, Snapshot: w.snapshot(a)}
	switch p.audience {
	case realtime.ByGroup:
		r.Group = p.group(ctx)
		ctx = context.Background()
	case realtime.Shared:
		ctx = context.Background()
	}
	return must(w.Render(ctx, r)).HTML
}

func (w *world) count(of *int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *of
}

func (w *world) rendered(component string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.renders[component]
}

// with changes the world under its lock.
func (w *world) with(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func cart(id string) actors.Address { return actors.Address{Type: "cart", ID: id} }

var (
	tN        = wire.Target{Component: "n"}
	tM        = wire.Target{Component: "m"}
	tGreeting = wire.Target{Component: "greeting"}
	tStaff    = wire.Target{Component: "staff"}
	tParent   = wire.Target{Component: "parent"}
	tList     = wire.Target{Component: "list"}
	tTasks    = wire.Target{Component: "tasks"}
	tCrew     = wire.Target{Component: "crew"}
)

const settled = 150 * time.Millisecond // longer than the hub's pace

func contains(s, part string) bool { return strings.Contains(s, part) }
