package realtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/realtime/origin"
	"github.com/lockstep-go/lockstep/realtime/wire"
)

// SubscribeFunc decides whether the viewer in ctx may follow an actor; an error refuses. It is asked at every
// subscribe, at every refresh of a token and at every re-check.
type SubscribeFunc func(ctx context.Context, r actors.Request) error

// Middleware wraps a SubscribeFunc. What it puts into ctx is seen by the policies below it.
type Middleware func(SubscribeFunc) SubscribeFunc

// Config is what a Hub is made of. Durations: zero is the default, below zero is off.
type Config struct {
	Source   Source       // required
	Renderer Renderer     // required
	Sealer   *wire.Sealer // required

	// Build names the running code, as in the tokens that this process seals. A page of another build gets its HTML
	// anew on its first subscribe.
	Build string
	// Identify says whom a socket belongs to. Nil: everybody is a stranger.
	Identify func(*http.Request) Identity
	// ViewerContext builds the ctx that policies and per-viewer components see for the life of a socket, from the
	// request that opened it. Nil takes the request's own. The hub detaches the result from the request's end and ends
	// it with the socket.
	ViewerContext func(*http.Request) context.Context
	// Detach shadows values of a viewer's ctx that somebody recycles when the handler returns, such as a router's
	// parameters. It is called before that. Nil leaves ctx as it is.
	Detach func(context.Context) context.Context
	// Subscribe is run around the policies, the first outermost.
	Subscribe []Middleware
	// Origins are the public origins (https://shop.example) that pages come from besides the request's own Host.
	Origins []string
	// Logger hears of refusals and failures; nil is quiet. Tokens, ids, arguments and HTML are never logged.
	Logger *slog.Logger
	// Metrics hears of figures; nil is none.
	Metrics Metrics

	Heartbeat  time.Duration // between pings, 25 s; a socket silent for about two of them is closed
	WriteStall time.Duration // a reader that takes nothing for so long is closed, 10 s
	Recheck    time.Duration // between two times that a subscription's policies are asked, 30 s
	Compare    time.Duration // between two comparisons with the database, 1 s

	MaxConns     int // open connections, 50,000; those beyond are told to try later
	MaxConnsEach int // those of one principal, and of one session, 200; strangers count in MaxConns alone
	MaxScopes    int // of one connection, 100
	MaxTargets   int // that all scopes of one connection show together, 10,000
	// MaxPending bounds the bytes of fragments that may wait for one connection, 16 MiB. One that lets more gather is
	// closed, to come back current; a scope whose answer alone is larger is refused.
	MaxPending int
	// Resyncs bounds how many subscribes are worked on at once, 16. Where 512 times as many wait, the surplus is
	// answered "later".
	Resyncs int
}

// New makes a hub, which serves once Run was called. All mistakes in the Config come back joined.
func New(c Config) (*Hub, error) {
	var wrong []error
	missing := func(is bool, what string) {
		if is {
			wrong = append(wrong, fmt.Errorf("realtime: Config.%s is missing", what))
		}
	}
	missing(c.Source == nil, "Source")
	missing(c.Renderer == nil, "Renderer")
	missing(c.Sealer == nil, "Sealer")
	for i, m := range c.Subscribe {
		missing(m == nil, fmt.Sprintf("Subscribe[%d]", i))
	}
	for _, limit := range []struct {
		name  string
		value int
	}{
		{"MaxConns", c.MaxConns}, {"MaxConnsEach", c.MaxConnsEach}, {"MaxScopes", c.MaxScopes},
		{"MaxTargets", c.MaxTargets}, {"MaxPending", c.MaxPending}, {"Resyncs", c.Resyncs},
	} {
		if limit.value < 0 {
			wrong = append(wrong, fmt.Errorf("realtime: Config.%s is %d, must be positive", limit.name, limit.value))
		}
	}
	origins, err := origin.ParseSet("realtime: Config.Origins", c.Origins)
	if err != nil {
		wrong = append(wrong, err)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	c.Heartbeat = cmp.Or(c.Heartbeat, 25*time.Second)
	c.WriteStall = cmp.Or(c.WriteStall, 10*time.Second)
	c.Recheck = cmp.Or(c.Recheck, 30*time.Second)
	c.Compare = cmp.Or(c.Compare, time.Second)
	c.MaxConns = cmp.Or(c.MaxConns, 50_000)
	c.MaxConnsEach = cmp.Or(c.MaxConnsEach, 200)
	c.MaxScopes = cmp.Or(c.MaxScopes, 100)
	c.MaxTargets = cmp.Or(c.MaxTargets, 10*wire.MaxTargets)
	c.MaxPending = cmp.Or(c.MaxPending, 16<<20)
	c.Resyncs = cmp.Or(c.Resyncs, 16)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = unmeasured{}
	}
	if c.Identify == nil {
		c.Identify = func(*http.Request) Identity { return Identity{} }
	}
	if c.ViewerContext == nil {
		c.ViewerContext = (*http.Request).Context
	}
	return newHub(c, origins), nil
}
