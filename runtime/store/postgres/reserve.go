package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// poolPatience is how long a write waits for a pool that the application uses up, before it takes the reserve.
const poolPatience = 100 * time.Millisecond

// reserve is the store's own connection beside the pool of an application. Leases are renewed and turns recorded over
// it while handlers have every connection of the pool; without it those handlers' own leases would end.
type reserve struct {
	mu     sync.Mutex
	pool   *pgxpool.Pool // of one connection; nil until it is needed
	closed bool
}

func (r *reserve) of(pool *pgxpool.Pool) (*pgxpool.Pool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, errClosed
	}
	if r.pool != nil {
		return r.pool, nil
	}
	cfg := pool.Config()
	cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns, cfg.MaxConnIdleTime = 0, 0, 1, time.Minute
	one, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err == nil {
		r.pool = one
	}
	return one, err
}

func (r *reserve) close() {
	r.mu.Lock()
	one := r.pool
	r.pool, r.closed = nil, true
	r.mu.Unlock()
	if one != nil {
		one.Close()
	}
}

// acquire lends a connection of the pool, or to a write that finds the application's pool used up, the reserve.
func (s *Store) acquire(ctx context.Context, writes bool) (*pgxpool.Conn, error) {
	if s.own || !writes {
		return s.pool.Acquire(ctx)
	}
	brief, stop := context.WithTimeout(ctx, poolPatience)
	c, err := s.pool.Acquire(brief)
	stop()
	if err == nil || ctx.Err() != nil || brief.Err() == nil {
		return c, err
	}
	one, err := s.reserve.of(s.pool)
	if err != nil {
		return nil, err
	}
	return one.Acquire(ctx)
}
