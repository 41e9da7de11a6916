package web

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime"
	"github.com/lockstep-go/lockstep/realtime/origin"
	"github.com/lockstep-go/lockstep/realtime/wire"
	"github.com/lockstep-go/lockstep/static"
	"github.com/lockstep-go/lockstep/views"
)

// Runtime is what pages and actions need of the engine; *runtime.Runtime is one.
type Runtime interface {
	actors.Client
	realtime.Source
	// Run works until ctx ends, and returns when it has drained.
	Run(ctx context.Context) error
	// Ready says whether Run is working.
	Ready() bool
	// Definition is an actor type by name, or nil.
	Definition(typ string) *actors.Definition
}

// Identity says who is asking; both fields may be empty for a stranger.
type Identity = realtime.Identity

// Config is what a Live is made of. Zero fields are the documented defaults.
type Config struct {
	// Keys sign the tokens in pages, each of at least 32 random bytes, the current one first. Old ones stay listed
	// until the pages that hold them are gone. Processes of one site share them. Required.
	Keys [][]byte
	// Identify says who is asking, from what the application's own middleware has found out. Nil: everybody is a
	// stranger, and nobody can be revoked.
	Identify func(*http.Request) Identity
	// ViewerContext builds the ctx that policies and per-viewer components see for the life of a socket, from the
	// request that opened it. Nil takes the request's own.
	ViewerContext func(*http.Request) context.Context
	// Subscribe is run around the Subscribe policy, the first outermost.
	Subscribe []realtime.Middleware

	// RenderError writes the page for a request that cannot be served: the status, and Text in the application's own
	// layout. Headers that the status needs are set already. Nil writes a plain page. Clients that asked for JSON, and
	// forms sent by the browser client, are answered without it.
	RenderError func(w http.ResponseWriter, r *http.Request, e *Error)
	// Text translates the text of an Error by its Code; "" keeps ours.
	Text func(r *http.Request, e *Error) string

	// BasePath is where browsers reach the socket and the client, "/lockstep" by default. It is public: behind a proxy
	// that strips a prefix it has the prefix, while Handler is mounted without.
	BasePath string
	// Origins are the public origins (https://shop.example) that pages come from besides the request's own Host.
	Origins []string
	// Build names the running code; "" is a digest of the executable.
	Build string
	// Logger hears of refusals and failures; nil is quiet. Tokens, ids, entries and HTML are never logged.
	Logger *slog.Logger
	// Tracer gives requests to a Page or an Action a span, unless the application's own middleware has begun one; with
	// runtime.Config.Tracer the turns that a request causes, and what these cause, belong to its trace. Nil begins none.
	Tracer trace.TracerProvider
	// Metrics hears of the hub's figures; package metrics has one. Nil is none.
	Metrics realtime.Metrics

	TokenAge   time.Duration // after which a page's token must be refreshed, 24 h
	TokenGrace time.Duration // after which it is refused, 30 days
	MaxBody    int64         // bytes of a form or JSON document that an Action reads, 1 MiB
	Shutdown   time.Duration // for requests to finish when Serve ends, 10 s

	// Of the hub; below zero is off.
	Heartbeat  time.Duration // between pings of a socket, 25 s
	WriteStall time.Duration // a socket that takes nothing for so long is closed, 10 s
	Recheck    time.Duration // between two times that a subscription's policies are asked, 30 s
	Compare    time.Duration // between two comparisons with the database, 1 s; off where the runtime is the single owner
	Resyncs    int           // subscribes worked on at once, 16; where 512 times as many wait, the surplus is told to try later

	// Limits of the hub, as realtime.Config says.
	MaxConns     int // open connections, 50,000
	MaxConnsEach int // those of one principal, and of one session, 200
	MaxScopes    int // of one connection, 100
	MaxTargets   int // of one connection, 10,000
	MaxPending   int // bytes of fragments that may wait for one connection, 16 MiB
}

// Live is the web side of one runtime.
type Live struct {
	rt      Runtime
	cfg     Config
	log     *slog.Logger
	sealer  *wire.Sealer
	hub     *realtime.Hub
	origins origin.Set
	static  string // address of the browser client's files
}

// New checks the configuration and the program's components, and starts nothing. All mistakes come back joined.
func New(rt Runtime, cfg Config) (*Live, error) {
	if rt == nil {
		return nil, errors.New("web: New needs a runtime")
	}
	l := &Live{rt: rt, cfg: cfg, log: cfg.Logger}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.cfg.MaxBody = cmp.Or(cfg.MaxBody, 1<<20)
	l.cfg.Shutdown = cmp.Or(cfg.Shutdown, 10*time.Second)
	if l.cfg.Identify == nil {
		l.cfg.Identify = func(*http.Request) Identity { return Identity{} }
	}
	var errs [6]error
	l.cfg.BasePath, errs[0] = basePath(cfg.BasePath)
	l.static = l.cfg.BasePath + "/static/" + static.Digest()
	if l.cfg.Build == "" {
		l.cfg.Build, errs[1] = executable()
	}
	l.origins, errs[2] = origin.ParseSet("Config.Origins", cfg.Origins)
	l.sealer, errs[3] = wire.NewSealer(cfg.Keys, cfg.TokenAge, cfg.TokenGrace)
	if cfg.TokenAge < 0 || cfg.TokenGrace < 0 || cfg.Shutdown < 0 || cfg.MaxBody < 0 {
		errs[5] = errors.New("Config.TokenAge, TokenGrace, Shutdown and MaxBody must not be negative")
	}
	if l.sealer == nil {
		errs[4] = views.Check()
	} else {
		errs[4] = l.makeHub()
	}
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return l, nil
}

func (l *Live) makeHub() error {
	pushed, err := views.NewRenderer(l.rt.Definition, l.page(Identity{}))
	if err != nil {
		return err
	}
	compare := l.cfg.Compare
	if owner, ok := l.rt.(interface{ SingleOwner() bool }); ok && owner.SingleOwner() {
		compare = cmp.Or(compare, -1) // every commit is this process's own
	}
	l.hub, err = realtime.New(realtime.Config{
		Source: l.rt, Renderer: renderer{pushed}, Sealer: l.sealer, Build: l.cfg.Build,
		Identify: l.cfg.Identify, ViewerContext: l.cfg.ViewerContext, Detach: detach,
		Subscribe: l.cfg.Subscribe, Origins: l.cfg.Origins, Logger: l.log,
		Heartbeat: l.cfg.Heartbeat, WriteStall: l.cfg.WriteStall, Recheck: l.cfg.Recheck, Compare: compare,
		Resyncs: l.cfg.Resyncs, Metrics: l.cfg.Metrics,
		MaxConns: l.cfg.MaxConns, MaxConnsEach: l.cfg.MaxConnsEach, MaxScopes: l.cfg.MaxScopes,
		MaxTargets: l.cfg.MaxTargets, MaxPending: l.cfg.MaxPending,
	})
	return err
}

// page is what a page for this visitor must know.
func (l *Live) page(who Identity) views.Page {
	return views.Page{
		Reader: l.rt, Sealer: l.sealer, Build: l.cfg.Build, Static: l.static,
		Viewer: l.sealer.Viewer(who.Principal, who.Session),
	}
}

// Revoke closes the sockets of a principal or session, or has the subscriptions to an actor checked: at once in this
// process, and within two seconds in every other one on the database. Call it where somebody signs out or loses a right,
// once the application itself knows. An error says that other processes may not hear of it: call it again.
func (l *Live) Revoke(ctx context.Context, what realtime.Revocation) error {
	return l.hub.Revoke(ctx, what)
}

// Run holds the sockets of open pages until ctx ends, and returns when they are closed.
func (l *Live) Run(ctx context.Context) error { return l.hub.Run(ctx) }

// basePath checks and completes a base path.
func basePath(path string) (string, error) {
	path = strings.TrimRight(cmp.Or(path, "/lockstep"), "/")
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(path, "{}*?#%\\ ") || strings.Contains(path, "/.") {
		return "", fmt.Errorf("Config.BasePath %q must be a path like /lockstep", path)
	}
	return path, nil
}

// executable is a digest of the running program's bytes.
var executable = sync.OnceValues(func() (string, error) {
	f, err := os.Open("/proc/self/exe") // the running file, even if another has taken its name since
	if err != nil {
		path, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find the executable, set Config.Build: %w", err)
		}
		if f, err = os.Open(path); err != nil {
			return "", fmt.Errorf("read the executable, set Config.Build: %w", err)
		}
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the executable, set Config.Build: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:12]), nil
})
