package webtest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/web"
	"github.com/lockstep-go/lockstep/web/webtest"
	"github.com/lockstep-go/lockstep/web/webtest/testdata/board"
)

// boardApp is the board as a site of two processes on one database. It is what stands in front of them: a visitor's
// requests go to one of the two.
type boardApp struct {
	t         testing.TB
	policy    actors.Policy
	db        *sqlite.Store
	bus       bus.InProcess
	site      *webtest.Site
	processes [2]*boardProcess
	settle    func() // waits for what a step has caused

	mu       sync.Mutex
	at       map[string]int // the process that a visitor's network leads to, by name
	each     bool           // every request goes to another process than the one before
	requests map[string]int // by method and the last word of the path
}

func newBoardApp(t testing.TB, policy actors.Policy) *boardApp {
	t.Helper()
	a := &boardApp{t: t, policy: policy, settle: func() {}, at: map[string]int{}, requests: map[string]int{}}
	var err error
	if a.db, err = sqlite.Open(t.Context(), ":memory:"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.db.Close(); err != nil {
			t.Errorf("close database: %v", err)
		}
	})
	for i := range a.processes {
		a.processes[i] = &boardProcess{app: a}
		a.processes[i].start()
	}
	idle, _ := a.processes[0].web(a.processes[0].rt) // since the processes run their own hubs
	a.site = webtest.Serve(t, idle, a)
	return a
}

func (a *boardApp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.requests[r.Method+" "+r.URL.Path[strings.LastIndexByte(r.URL.Path, '/'):]]++
	user := r.Header.Get("X-User")
	if a.each {
		a.at[user] = 1 - a.at[user]
	}
	routes := a.processes[a.at[user]].routes
	a.mu.Unlock()
	routes.ServeHTTP(w, r)
}

// asked is how many requests there were of a method and a last word of the path.
func (a *boardApp) asked(what string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[what]
}

// lead has a visitor's network lead to a process.
func (a *boardApp) lead(user string, to int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at[user] = to
}

func (a *boardApp) cross(page int) { a.lead(viewer(page), 1-a.index(page)) }

func (a *boardApp) index(page int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at[viewer(page)]
}

// of is the process that a page's network leads to.
func (a *boardApp) of(page int) *boardProcess { return a.processes[a.index(page)] }

// viewer is the name of who looks at a page of a schedule, and team their role.
func viewer(page int) string { return "viewer " + pageIDs[page] }
func team(page int) string   { return []string{"red", "blue"}[page%2] }

// replace ends a process, as a deploy does or without a word, and begins another in its place.
func (a *boardApp) replace(p *boardProcess, killed bool) {
	p.end(killed)
	p.start()
}

// boardProcess is one process of the site.
type boardProcess struct {
	app    *boardApp
	rt     *runtime.Runtime
	live   *web.Live
	routes http.Handler // guarded by app.mu
	end    func(killed bool)

	mu                        sync.Mutex
	lose, double, delay, mute int // what becomes of its news and hints
	held                      []func()
}

// start begins the process: a runtime, and a hub.
func (p *boardProcess) start() {
	t := p.app.t
	t.Helper()
	own := &mortal{Store: p.app.db}
	rt, err := runtime.Open(context.Background(), own, runtime.Config{
		Types: []actors.AnyType{board.Shelves, board.Boards}, Policy: p.app.policy, Bus: &hints{Bus: &p.app.bus, of: p, dead: own},
		AskTimeout: time.Minute, Lease: 5 * time.Second, Renew: time.Second, Heartbeat: 2 * time.Second, Stale: 5 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	p.lose, p.double, p.delay, p.mute, p.held = 0, 0, 0, 0, nil
	p.mu.Unlock()
	live, routes := p.web(&news{rt, p})
	p.app.mu.Lock()
	p.rt, p.live, p.routes = rt, live, routes
	p.app.mu.Unlock()
	endRuntime, endHub := running(t, "runtime", rt.Run), running(t, "hub", live.Run)
	stop := sync.OnceFunc(func() {
		own.kill(false) // who was killed may leave now that nobody looks
		endHub()
		endRuntime()
		if err := rt.Close(); err != nil {
			t.Errorf("close runtime: %v", err)
		}
	})
	t.Cleanup(stop)
	p.end = func(killed bool) {
		if killed {
			own.kill(true)
			endHub()
		} else {
			stop()
		}
	}
}

// running runs a part of a process; what is returned ends it.
func running(t testing.TB, what string, run func(context.Context) error) (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the %s ended with %v", what, err)
		}
	})
}

// web is the process's web side.
func (p *boardProcess) web(rt web.Runtime) (*web.Live, http.Handler) {
	live, err := web.New(rt, web.Config{
		Keys: [][]byte{[]byte("32 random bytes of your own, here")}, Build: "test",
		Identify: func(r *http.Request) web.Identity {
			return web.Identity{Principal: r.Header.Get("X-User"), Session: r.Header.Get("X-Session")}
		},
	})
	if err != nil {
		p.app.t.Fatal(err)
	}
	r := chi.NewRouter()
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			v := board.Viewer{Name: r.Header.Get("X-User"), Role: r.Header.Get("X-Role"), Secret: r.Header.Get("X-Secret")}
			next.ServeHTTP(w, r.WithContext(board.WithViewer(r.Context(), v)))
		})
	}, live.Middleware)
	live.Mount(r)
	r.Get("/", live.Page(func(*http.Request) (templ.Component, error) {
		return board.Page(board.Boards.Ref("board"), board.Shelves.Ref("a")), nil
	}))
	for path, page := range map[string]func(actors.Ref[board.Shelf]) templ.Component{"/shelf/{id}": board.ShelfPage, "/common/{id}": board.CommonPage} {
		r.Get(path, live.Page(func(r *http.Request) (templ.Component, error) {
			return page(board.Shelves.Ref(chi.URLParam(r, "id"))), nil
		}))
	}
	return live, r
}

func (p *boardProcess) change(id string, c board.Change) error {
	_, err := board.Set.Ask(context.Background(), p.rt, board.Shelves.Ref(id), c)
	return err
}

func (p *boardProcess) set(id, what string, to int) error {
	return p.change(id, board.Change{What: what, To: to})
}

func (p *boardProcess) show(ids []string) error {
	_, err := board.Show.Ask(context.Background(), p.rt, board.Boards.Ref("board"), ids)
	return err
}

func (p *boardProcess) destroy(id string) error {
	_, err := board.Shelves.Ref(id).Destroy(context.Background(), p.rt)
	return err
}

func (p *boardProcess) fault(set func(*boardProcess)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	set(p)
}

// news is a process's runtime, whose word to its hub may be lost, doubled or late.
type news struct {
	*runtime.Runtime
	of *boardProcess
}

func (n *news) Follow(tell func(actors.Broadcast)) (stop func()) {
	p := n.of
	return n.Runtime.Follow(func(b actors.Broadcast) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case p.lose > 0:
			p.lose--
			return
		case p.delay > 0:
			p.delay--
			p.held = append(p.held, func() { tell(b) })
			return
		case p.double > 0:
			p.double--
			tell(b)
		}
		tell(b)
		for _, late := range p.held {
			late()
		}
		p.held = nil
	})
}

// hints are what a process tells others, as long as it lives and is not mute.
type hints struct {
	bus.Bus
	of   *boardProcess
	dead *mortal
}

func (h *hints) Publish(from string, list ...bus.Hint) {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	switch {
	case h.dead.isDead():
	case h.of.mute > 0:
		h.of.mute--
	default:
		h.Bus.Publish(from, list...)
	}
}

// mortal is a process's way to the database: none is left once it was killed, so that nothing is given back.
type mortal struct {
	*sqlite.Store
	mu   sync.Mutex
	dead bool
}

var errKilled = errors.New("this process was killed")

func (m *mortal) kill(dead bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = dead
}

func (m *mortal) isDead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dead
}

func (m *mortal) Flush(ctx context.Context, f *store.Flush) error {
	if m.isDead() {
		return errKilled
	}
	return m.Store.Flush(ctx, f)
}

func (m *mortal) Beat(ctx context.Context, id, state string) (store.Outcome, error) {
	if m.isDead() {
		return "", errKilled
	}
	return m.Store.Beat(ctx, id, state)
}

func (m *mortal) TakeBroadcasts(ctx context.Context, owner string, age time.Duration, limit int) ([]store.Broadcast, error) {
	if m.isDead() {
		return nil, errKilled
	}
	return m.Store.TakeBroadcasts(ctx, owner, age, limit)
}

func (m *mortal) Recover(ctx context.Context, self string, stale, retain time.Duration) (store.Recovered, error) {
	if m.isDead() {
		return store.Recovered{}, errKilled
	}
	return m.Store.Recover(ctx, self, stale, retain)
}
