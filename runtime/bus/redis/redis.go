// Package redis is a bus on Redis or Valkey, for fleets whose database does not notify: MySQL's and MariaDB's. It uses
// PUBLISH and SUBSCRIBE only, and keeps nothing there.
package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockstep-go/lockstep/runtime/bus"
)

// Config is how a bus uses its server. Zero fields are the documented defaults.
type Config struct {
	// Channel is what the processes of one database publish on and listen to, "lockstep.hints" by default. Databases
	// that share a server have one each, or their processes look in vain now and then.
	Channel string
	// Logger hears of failures; nil is quiet.
	Logger *slog.Logger
}

// Bus is a bus.Bus.
type Bus struct {
	*bus.Gatherer
	client goredis.UniversalClient
	own    bool // the client is the bus's, to be closed with it
	cfg    Config
}

var _ bus.Bus = (*Bus)(nil)

// Open makes a bus on the server of a URL, as goredis.ParseURL reads it. It connects when there is something to do: a
// server that cannot be reached costs latency, and no start. The caller closes the bus, after the runtimes that use it.
func Open(url string, cfg Config) (*Bus, error) {
	options, err := goredis.ParseURL(url)
	if err != nil {
		return nil, errors.New("open Redis: the URL cannot be read") // its error may repeat a password
	}
	options.DialTimeout, options.ReadTimeout, options.WriteTimeout = bus.Patience, bus.Patience, bus.Patience
	options.MaxRetries, options.ContextTimeoutEnabled = -1, true // the bus tries again by itself
	b := New(goredis.NewClient(options), cfg)
	b.own = true
	return b, nil
}

// New makes a bus on the application's client, which stays open when the bus is closed.
func New(client goredis.UniversalClient, cfg Config) *Bus {
	cfg.Channel = cmp.Or(cfg.Channel, "lockstep.hints")
	b := &Bus{client: client, cfg: cfg}
	b.Gatherer = bus.NewGatherer(cfg.Logger, b.send)
	return b
}

func (b *Bus) send(ctx context.Context, packet []byte) error {
	if err := b.client.Publish(ctx, b.cfg.Channel, packet).Err(); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// Listen is bus.Bus's.
func (b *Bus) Listen(ctx context.Context, hear func(from string, hints []bus.Hint)) error {
	return bus.Keep(ctx, b.cfg.Logger, func(ctx context.Context) error { return b.listen(ctx, hear) })
}

// listen does so on one connection.
func (b *Bus) listen(ctx context.Context, hear func(from string, hints []bus.Hint)) error {
	sub := b.client.Subscribe(ctx) // which connects with the first channel
	defer sub.Close()
	stop := context.AfterFunc(ctx, func() { sub.Close() })
	defer stop()
	if err := sub.Subscribe(ctx, b.cfg.Channel); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	asked := time.Now() // when the server was asked for the answer that it owes
	for owed := true; ; {
		wait := bus.Proof
		if owed {
			wait = max(time.Millisecond, bus.Patience-time.Since(asked))
		}
		m, err := sub.ReceiveTimeout(ctx, wait)
		if ctx.Err() != nil {
			return nil
		}
		slow, timeout := errors.AsType[net.Error](err)
		switch {
		case err == nil:
		case !timeout || !slow.Timeout():
			return err
		case owed:
			return errors.New("prove that the listener hears: no answer in time")
		default:
			if err := sub.Ping(ctx); err != nil {
				return fmt.Errorf("prove that the listener hears: %w", err)
			}
			owed, asked = true, time.Now()
			continue
		}
		switch m := m.(type) {
		case *goredis.Subscription:
			owed = false
			bus.DeliverMissed(hear)
		case *goredis.Pong:
			owed = false
		case *goredis.Message:
			owed = false
			bus.Deliver([]byte(m.Payload), hear)
		}
	}
}

// Close sends what waits. A second Close does nothing.
func (b *Bus) Close() error {
	b.Gatherer.Close()
	if b.own {
		if err := b.client.Close(); err != nil && !errors.Is(err, goredis.ErrClosed) {
			return fmt.Errorf("close: %w", err)
		}
	}
	return nil
}
