// Package nats is a bus on a NATS server, for fleets whose database does not notify: MySQL's and MariaDB's. It needs no
// JetStream: hints are not kept.
package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	natsgo "github.com/nats-io/nats.go"

	"github.com/lockstep-go/lockstep/runtime/bus"
)

// Config is how a bus uses its server. Zero fields are the documented defaults.
type Config struct {
	// Subject is what the processes of one database publish on and listen to, "lockstep.hints" by default. Databases
	// that share a server have one each, or their processes look in vain now and then.
	Subject string
	// Options are those of the connections: credentials, TLS. Reconnecting is the bus's own.
	Options []natsgo.Option
	// Logger hears of failures; nil is quiet.
	Logger *slog.Logger
}

// Bus is a bus.Bus.
type Bus struct {
	*bus.Gatherer
	url string
	cfg Config

	mu   sync.Mutex
	conn *natsgo.Conn // for sending; nil until needed, and after a failure
}

var _ bus.Bus = (*Bus)(nil)

// Open makes a bus on the server, or the servers, of a URL. It connects when there is something to do: a server that
// cannot be reached costs latency, and no start. The caller closes the bus, after the runtimes that use it.
func Open(url string, cfg Config) (*Bus, error) {
	if url == "" {
		return nil, errors.New("open NATS: no URL")
	}
	cfg.Subject = cmp.Or(cfg.Subject, "lockstep.hints")
	b := &Bus{url: url, cfg: cfg}
	b.Gatherer = bus.NewGatherer(cfg.Logger, b.send)
	return b, nil
}

func (b *Bus) connect() (*natsgo.Conn, error) {
	options := append([]natsgo.Option{natsgo.Name("lockstep")}, b.cfg.Options...)
	options = append(options, natsgo.Timeout(bus.Patience), natsgo.NoReconnect(), natsgo.RetryOnFailedConnect(false))
	conn, err := natsgo.Connect(b.url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

// send publishes a packet and has the server answer, so that a connection which is dead is found and made anew.
func (b *Bus) send(ctx context.Context, packet []byte) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn == nil {
		if b.conn, err = b.connect(); err != nil {
			return err
		}
	}
	if err = b.conn.Publish(b.cfg.Subject, packet); err == nil {
		err = b.conn.FlushWithContext(ctx)
	}
	if err != nil {
		b.conn.Close()
		b.conn = nil
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
	conn, err := b.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	sub, err := conn.SubscribeSync(b.cfg.Subject)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	if err := conn.FlushTimeout(bus.Patience); err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	bus.DeliverMissed(hear)
	for {
		waiting, cancel := context.WithTimeout(ctx, bus.Proof)
		m, err := sub.NextMsgWithContext(waiting)
		cancel()
		switch {
		case err == nil:
			bus.Deliver(m.Data, hear)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, natsgo.ErrSlowConsumer):
			bus.DeliverMissed(hear)
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		default:
			if err := conn.FlushTimeout(bus.Patience); err != nil {
				return fmt.Errorf("prove that the listener hears: %w", err)
			}
		}
	}
}

// Close sends what waits and ends the sending connection. A second Close does nothing.
func (b *Bus) Close() error {
	b.Gatherer.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.conn != nil {
		b.conn.Close()
		b.conn = nil
	}
	return nil
}
