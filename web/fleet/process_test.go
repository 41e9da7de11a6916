package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/go-chi/chi/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/bus/nats"
	"github.com/lockstep-go/lockstep/runtime/bus/redis"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/static/chromiumtest"
	"github.com/lockstep-go/lockstep/web"
	"github.com/lockstep-go/lockstep/web/webtest/testdata/board"
)

// role says, in a child's environment, what it is to serve.
const role = "LOCKSTEP_FLEET"

// wiring is what a process serves from.
type wiring struct {
	Database string // sqlite, postgres, mysql
	Address  string
	Bus      string // nats, redis; "" is the store's own
	Channel  string // of the bus
	Through  string // the address by which its server is reached; "" is its own
	Hints    string // what becomes of them: "" all are delivered, "dropped", "shuffled"
	Older    bool   // it is a build that knows one observable less and has no pages
}

func TestMain(m *testing.M) {
	if text := os.Getenv(role); text != "" {
		if err := serve(text); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(chromiumtest.Main(m))
}

// serve is a child's whole life.
func serve(text string) error {
	var w wiring
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}
	ctx := context.Background()
	db, err := w.open(ctx)
	if err != nil {
		return err
	}
	hints, err := w.hints(db)
	if err != nil {
		return err
	}
	cfg := runtime.Config{Types: []actors.AnyType{board.Shelves, board.Boards}, Policy: actors.InsecureAllowAll()}
	change := board.Set
	if w.Older {
		older := actors.Define("shelf", func() board.Shelf { return board.Shelf{} })
		actors.Shared(older, "n", func(s board.Shelf) int { return s.N })
		change = actors.Message[board.Change, actors.None](older, "set")
		change.Handle((*board.Shelf).Apply)
		cfg.Types = []actors.AnyType{older}
	}
	if hints.Bus != nil {
		cfg.Bus = hints
	}
	rt, err := runtime.Open(ctx, db, cfg)
	if err != nil {
		return err
	}
	live, err := web.New(rt, web.Config{
		Keys: [][]byte{[]byte("32 random bytes of the site's own")}, Build: "fleet",
		Origins: strings.Fields(os.Getenv("LOCKSTEP_FLEET_ORIGIN")),
		Identify: func(r *http.Request) web.Identity {
			c, err := r.Cookie("user")
			if err != nil {
				return web.Identity{Principal: r.Header.Get("X-User"), Session: r.Header.Get("X-Session")}
			}
			return web.Identity{Principal: c.Value}
		},
	})
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	srv := &http.Server{Handler: routes(rt, live, hints, change)}
	go rt.Run(ctx)
	go live.Run(ctx)
	return srv.Serve(l)
}

func routes(rt *runtime.Runtime, live *web.Live, hints *network, change *actors.MessageType[board.Shelf, board.Change, actors.None]) http.Handler {
	r := chi.NewRouter()
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			who := board.Viewer{Name: r.Header.Get("X-User"), Role: "all"}
			next.ServeHTTP(w, r.WithContext(board.WithViewer(r.Context(), who)))
		})
	}, live.Middleware)
	live.Mount(r)
	r.Get("/shelf/{id}", live.Page(func(r *http.Request) (templ.Component, error) {
		return board.ShelfPage(board.Shelves.Ref(chi.URLParam(r, "id"))), nil
	}))
	answer := func(do func(*http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if err := do(r); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}
	r.Post("/set", answer(func(r *http.Request) error {
		to, err := strconv.Atoi(r.FormValue("to"))
		if err != nil {
			return err
		}
		_, err = change.Ask(r.Context(), rt, change.Type().Ref(r.FormValue("id")), board.Change{What: r.FormValue("what"), To: to})
		return err
	}))
	r.Post("/revoke", answer(func(r *http.Request) error {
		what := actors.Revocation{Principal: r.FormValue("principal"), Session: r.FormValue("session")}
		return live.Revoke(r.Context(), what)
	}))
	r.Get("/heard", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, hints.heard.Load()) })
	return r
}

func (w *wiring) open(ctx context.Context) (store.Store, error) {
	switch w.Database {
	case "sqlite":
		return sqlite.Open(ctx, w.Address, sqlite.Config{Synchronous: sqlite.UnsafeNormal})
	case "postgres":
		return postgres.Open(ctx, w.Address)
	}
	return mysql.Open(ctx, w.Address)
}

// hints is the bus with what is to become of hints on it; one without a Bus where there is none.
func (w *wiring) hints(db store.Store) (n *network, err error) {
	n = &network{fate: w.Hints}
	switch w.Bus {
	case "nats":
		n.Bus, err = nats.Open(w.through(natsURL()), nats.Config{Subject: w.Channel})
	case "redis":
		n.Bus, err = redis.Open(w.through(redisURL()), redis.Config{Channel: w.Channel})
	default:
		n.Bus, _ = db.(bus.Bus)
	}
	return n, err
}

// through is the URL of a bus as this process is to reach it.
func (w *wiring) through(address string) string {
	u, err := url.Parse(address)
	if err != nil || w.Through == "" {
		return address
	}
	u.Host = w.Through
	return u.String()
}

// process is a child.
type process struct {
	t    testing.TB
	cmd  *exec.Cmd
	addr string
	once sync.Once
}

// start runs one more process of a fleet, and returns when it listens.
func start(t testing.TB, w wiring, origin string) *process {
	t.Helper()
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), role+"="+string(text), "LOCKSTEP_FLEET_ORIGIN="+origin)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the process did not come up: %v", err)
	}
	p.addr = strings.TrimSpace(line)
	return p
}

// kill ends it as a power cut would.
func (p *process) kill() {
	p.once.Do(func() {
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
}

// heard is how much news the process has heard of others.
func (p *process) heard() int64 {
	p.t.Helper()
	resp, err := http.Get(p.url() + "/heard")
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var n int64
	if _, err := fmt.Fscan(resp.Body, &n); err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *process) url() string { return "http://" + p.addr }

// post has a site do something.
func post(t testing.TB, site, path string, form url.Values) {
	t.Helper()
	for range 50 {
		resp, err := http.PostForm(site+path, form)
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		time.Sleep(100 * time.Millisecond) // a killed process's actors are taken over
	}
	t.Errorf("%s%s %v was not done", site, path, form)
}

func set(t testing.TB, site, id, what string, to int) {
	t.Helper()
	post(t, site, "/set", url.Values{"id": {id}, "what": {what}, "to": {strconv.Itoa(to)}})
}
