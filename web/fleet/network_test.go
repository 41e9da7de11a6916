package fleet

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
)

// network is a bus on which hints are lost, or come late, twice and in another order.
type network struct {
	bus.Bus
	fate  string
	heard atomic.Int64 // the news that came from others
}

// natsURL and redisURL are where the buses' servers are.
func natsURL() string  { return cmp.Or(os.Getenv("LOCKSTEP_TEST_NATS"), "nats://127.0.0.1:4222") }
func redisURL() string { return cmp.Or(os.Getenv("LOCKSTEP_TEST_REDIS"), "redis://127.0.0.1:6379") }

// across gives a process of a fleet a way to its bus that may go dark: to the server of the bus or, where the database is
// the bus, to the database, whose listening connections alone go dark. It is nil where there is no bus.
func (w *wiring) across(t *testing.T) *bustest.Proxy {
	switch {
	case w.Bus != "":
		u, err := url.Parse(map[string]string{"nats": natsURL(), "redis": redisURL()}[w.Bus])
		if err != nil {
			t.Fatal(err)
		}
		p := bustest.NewProxy(t, u.Host)
		w.Through = p.Addr()
		return p
	case w.Database == "postgres":
		cfg, err := pgx.ParseConfig(w.Address)
		if err != nil {
			t.Fatal(err)
		}
		p := bustest.NewProxyWhere(t, net.JoinHostPort(cfg.Host, strconv.Itoa(int(cfg.Port))), "LISTEN")
		host, port, _ := net.SplitHostPort(p.Addr())
		w.Address += " sslmode=disable host=" + host + " port=" + port // so that what is said can be read
		return p
	}
	return nil
}

func (n *network) Publish(from string, hints ...bus.Hint) {
	if n.fate != "dropped" {
		n.Bus.Publish(from, hints...)
	}
}

func (n *network) Listen(ctx context.Context, hear func(from string, hints []bus.Hint)) error {
	return n.Bus.Listen(ctx, func(from string, hints []bus.Hint) {
		for _, h := range hints {
			if h.Kind == bus.News {
				n.heard.Add(1)
			}
		}
		switch {
		case n.fate == "dropped":
		case n.fate == "shuffled":
			for _, h := range hints {
				for range 2 {
					time.AfterFunc(rand.N(700*time.Millisecond), func() { hear(from, []bus.Hint{h}) })
				}
			}
		default:
			hear(from, hints)
		}
	})
}
