package mysql_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// wire counts round trips: what is written and then waited for.
type wire struct {
	net.Conn
	wrote bool
	trips *atomic.Int64
}

func (w *wire) Write(b []byte) (int, error) {
	w.wrote = true
	return w.Conn.Write(b)
}

func (w *wire) Read(b []byte) (int, error) {
	if w.wrote {
		w.wrote = false
		w.trips.Add(1)
	}
	return w.Conn.Read(b)
}

// Design 4: what each verb costs, with one item and with 200, in a fixed number of statements. Each is a round trip.
const costs = `
                               1: stmts commits  trips    200: stmts commits  trips
flush: enqueue, new actors           11       1     11            11       1     11
flush: commit                         6       1      6             6       1      6
flush: enqueue, warm actors           6       1      6             6       1      6
flush: enqueue behind                 9       1      9             9       1      9
flush: commit, claim next             9       1      9             9       1      9
flush: commit and enqueue            15       1     15            15       1     15
flush: enqueue with a key            11       1     11            11       1     11
flush: failure                        8       1      8             8       1      8
flush: last failure                   8       1      8             8       1      8
flush: renew                          5       1      5             5       1      5
flush: release                        8       1      8             8       1      8
flush: scan                           9       1      9             9       1      9
flush: commit, everything            11       1     11            11       1     11
flush: broadcast handed on            4       1      4             4       1      4
deliver sends                        16       1     16            16       1     16
fire reminders                       10       1     10            10       1     10
claim effects                         7       1      7             7       1      7
renew effects                         3       1      3             3       1      3
finish effects                       10       1     10            10       1     10
take broadcasts                       6       1      6             6       1      6
snapshot                              1       0      1             1       0      1
stamps                                1       0      1             1       0      1
message                               1       0      1             1       0      1
alarms                                1       0      1             1       0      1
changes                               0       0      0             0       0      0
due                                   1       0      1             1       0      1
now                                   1       0      1             1       0      1
processes                             1       0      1             1       0      1
revocations                           1       0      1             1       0      1
dead letters                          1       0      1             1       0      1
retry                                10       1     10            10       1     10
pause                                 8       1      8             8       1      8
revoke                                7       1      7             7       1      7
register                              5       1      5             5       1      5
beat                                  5       1      5             5       1      5
recover, leases over                 10       1     10            14       1     14
leave                                13       1     13            13       1     13
destroy                              13       1     13            13       1     13
sweep                                 8       1      8             8       1      8
`

func TestCosts(t *testing.T) {
	need(t)
	var trips atomic.Int64
	driver.RegisterDialContext("counted", func(ctx context.Context, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, here.utf8.Net, address)
		return &wire{c, false, &trips}, err
	})
	c := here.utf8.Clone()
	c.Net = "counted"
	if got := storetest.Costs(t, fresh(t, c), trips.Load); got != costs[1:] {
		t.Errorf("verbs cost\n%s\nwant\n%s", got, costs[1:])
	}
}
