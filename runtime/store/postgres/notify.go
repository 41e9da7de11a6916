package postgres

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/runtime/bus"
)

var notifySend = declare("notify")

// Publish hands hints to be sent by NOTIFY, outside of any transaction of the store (package bus).
func (s *Store) Publish(from string, hints ...bus.Hint) {
	if !s.cfg.NoNotify {
		s.gatherer.Publish(from, hints...)
	}
}

// notify sends one notification. It is not counted: it belongs to no verb.
func (s *Store) notify(ctx context.Context, packet []byte) error {
	return s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		b := &pgx.Batch{}
		b.Queue(s.texts[notifySend], s.channel(), string(packet))
		return c.SendBatch(ctx, b).Close()
	})
}

// channel is the name that the processes of one schema and prefix listen to, within the 63 bytes of a name.
func (s *Store) channel() string {
	sum := sha256.Sum256([]byte(s.database + "." + s.cfg.Schema + "." + s.cfg.Prefix))
	return "lockstep_" + hex.EncodeToString(sum[:12])
}

// Listen calls hear with what is published, and with a Missed once whenever it has connected, until ctx ends; then it
// returns nil. It uses a connection of its own beside the pool, proves every few seconds that it still hears, and
// connects anew when it does not. Behind a proxy, and with Config.NoNotify, it only waits for ctx: polling finds
// everything, only later. hear must not block.
func (s *Store) Listen(ctx context.Context, hear func(from string, hints []bus.Hint)) error {
	if s.cfg.NoNotify {
		<-ctx.Done()
		return nil
	}
	return bus.Keep(ctx, s.cfg.Logger, func(ctx context.Context) error {
		err := s.listen(ctx, hear)
		if errors.Is(err, errProxied) {
			s.cfg.Logger.Info("notifications do not come through the proxy: polling finds what there is to do")
			<-ctx.Done()
		}
		return err
	})
}

var errProxied = errors.New("there is a proxy")

// listen does so on one connection.
func (s *Store) listen(ctx context.Context, hear func(from string, hints []bus.Hint)) error {
	cfg := s.pool.Config().ConnConfig.Copy()
	cfg.Tracer = nil
	connecting, cancel := context.WithTimeout(ctx, bus.Patience)
	defer cancel()
	if prepare := s.pool.Config().BeforeConnect; prepare != nil { // which may fetch a password
		if err := prepare(connecting, cfg); err != nil {
			return fmt.Errorf("prepare to connect: %w", err)
		}
	}
	conn, err := pgx.ConnectConfig(connecting, cfg)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		conn.Close(closing)
	}()
	var pid uint32
	if err := conn.QueryRow(connecting, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid); err != nil {
		return err
	}
	if pid != conn.PgConn().PID() {
		return errProxied
	}
	if _, err := conn.Exec(connecting, "LISTEN "+pgx.Identifier{s.channel()}.Sanitize(), pgx.QueryExecModeExec); err != nil {
		return err
	}
	bus.DeliverMissed(hear) // for what was said while nobody listened
	for {
		waiting, cancel := context.WithTimeout(ctx, bus.Proof)
		n, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			bus.Deliver([]byte(n.Payload), hear)
		case ctx.Err() != nil:
			return nil
		case conn.IsClosed() || waiting.Err() == nil:
			return err
		default:
			if err := s.prove(ctx, conn); err != nil {
				return fmt.Errorf("prove that the listener hears: %w", err)
			}
		}
	}
}

// prove has the server answer on the listener's connection.
func (s *Store) prove(ctx context.Context, conn *pgx.Conn) error {
	limited, cancel := context.WithTimeout(ctx, bus.Patience)
	defer cancel()
	return conn.Ping(limited)
}

var _ bus.Bus = (*Store)(nil)
