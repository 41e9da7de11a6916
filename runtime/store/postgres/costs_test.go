package postgres_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// sent counts what a connection sends and then waits for.
type sent struct{ n atomic.Int64 }

func (x *sent) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	x.n.Add(1)
	return ctx
}

func (*sent) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (x *sent) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	x.n.Add(1)
	return ctx
}

func (*sent) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (*sent) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// Design 4: what each verb costs, with one item and with 200. A flush costs two round trips however many items it has, one
// where all that it is about is known; a scan beside other items costs one more.
const costs = `
                               1: stmts commits  trips    200: stmts commits  trips
flush: enqueue, new actors           10       1      2            10       1      2
flush: commit                         7       1      1             7       1      1
flush: enqueue, warm actors           7       1      1             7       1      1
flush: enqueue behind                 6       1      1             6       1      1
flush: commit, claim next            10       1      2            10       1      2
flush: commit and enqueue            14       1      2            14       1      2
flush: enqueue with a key            11       1      2            11       1      2
flush: failure                       11       1      2            11       1      2
flush: last failure                   8       1      1             8       1      1
flush: renew                          5       1      1             5       1      1
flush: release                       10       1      2            10       1      2
flush: scan                           8       1      2             8       1      2
flush: commit, everything            15       1      2            15       1      2
flush: broadcast handed on            4       1      1             4       1      1
deliver sends                        13       1      3            13       1      3
fire reminders                       11       1      3            11       1      3
claim effects                         2       1      1             2       1      1
renew effects                         2       1      1             2       1      1
finish effects                       12       1      3            12       1      3
take broadcasts                       2       1      1             2       1      1
snapshot                              2       0      1             2       0      1
stamps                                2       0      1             2       0      1
message                               2       0      1             2       0      1
alarms                                2       0      1             2       0      1
changes                               0       0      0             0       0      0
due                                   2       0      1             2       0      1
now                                   2       0      1             2       0      1
processes                             2       0      1             2       0      1
revocations                           2       0      1             2       0      1
dead letters                          2       0      1             2       0      1
retry                                13       1      4            13       1      4
pause                                 9       1      3             9       1      3
revoke                                6       1      2             6       1      2
register                              4       1      2             4       1      2
beat                                  2       1      1             2       1      1
recover, leases over                 16       1      5            16       1      5
leave                                17       1      6            17       1      6
destroy                              13       1      2            13       1      2
sweep                                 6       1      3             6       1      3
`

func TestCosts(t *testing.T) {
	cfg, err := pgxpool.ParseConfig(dsn(t, lax))
	if err != nil {
		t.Fatal(err)
	}
	count := &sent{}
	cfg.MaxConns, cfg.ConnConfig.Tracer = 1, count
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	s, err := postgres.New(t.Context(), pool, postgres.Config{Schema: newSchema(), NoNotify: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if got := storetest.Costs(t, s, count.n.Load); got != costs[1:] {
		t.Errorf("verbs cost\n%s\nwant\n%s", got, costs[1:])
	}
}
