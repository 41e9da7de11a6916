package postgres_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime"
	"github.com/lockstep-go/lockstep/runtime/bus"
	"github.com/lockstep-go/lockstep/runtime/bus/bustest"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// eventually waits on the real clock.
func eventually(t testing.TB, what string, true func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if true() {
			return
		}
	}
	t.Fatalf("%s: not after 20 s", what)
}

// listeners are the server's connections that listen for stores of the test's database.
func listeners(t testing.TB, c *pgx.Conn) (pids []int) {
	t.Helper()
	rows, err := c.Query(context.WithoutCancel(t.Context()),
		"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%' OR datname = current_database() AND query = '-- ping'")
	if err != nil {
		t.Fatal(err)
	}
	pids, err = pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// DESIGN §4, D38: with polling set to an hour, what another process enqueues is begun at once, and the call that waits
// for it there ends at once.
func TestOtherProcessesHearAtOnce(t *testing.T) {
	o := openNew(t, lax)
	cfg := runtime.Config{Poll: time.Hour}
	running(t, o.Store, cfg)
	cfg.Types, cfg.Policy = []actors.AnyType{tallies}, actors.InsecureAllowAll()
	client, err := runtime.Open(t.Context(), open(t, o.dsn, o.cfg).Store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := session(t)
	eventually(t, "the listener is there", func() bool { return len(listeners(t, c)) == 1 })
	for i := range 5 {
		begun := time.Now()
		if _, err := bump.Tell(t.Context(), client, tallies.Ref("a"), 1); err != nil {
			t.Fatal(err)
		}
		eventually(t, fmt.Sprintf("message %d is run", i), func() bool {
			snap, err := tallies.Ref("a").Snapshot(t.Context(), client)
			return err == nil && snap.N == i+1
		})
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("message %d took %v", i, took)
		}
	}
}

// D38, R32: a listener whose backend is killed connects anew, and sweeps once for what it missed; no commit fails.
func TestAKilledListenerComesBack(t *testing.T) {
	o := openNew(t, lax)
	ear := bustest.Listen(t, o.Store)
	c := session(t)
	for round := range 3 {
		for _, pid := range listeners(t, c) {
			mustExec(t, c, "SELECT pg_terminate_backend($1)", pid)
		}
		flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{tell("a")}})
		begun := time.Now()
		eventually(t, "it sweeps once it is back", func() bool { return ear.Missed() == round+2 })
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("it took %v", took)
		}
	}
}

// R31, R32, R33, D38: LISTEN and NOTIFY are a bus like the others.
func TestBus(t *testing.T) {
	cfg, err := pgx.ParseConfig(dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]string{}
	bustest.Run(t, bustest.Subject{
		Server: net.JoinHostPort(cfg.Host, fmt.Sprint(cfg.Port)),
		Open: func(t *testing.T, channel, server string) bus.Bus {
			if schemas[channel] == "" {
				schemas[channel] = newSchema()
				open(t, dsn(t, lax), postgres.Config{Schema: schemas[channel]})
			}
			if server == "" {
				return open(t, dsn(t, lax), postgres.Config{Schema: schemas[channel]})
			}
			_, port, _ := net.SplitHostPort(server)
			through := fmt.Sprintf("host=127.0.0.1 port=%s user=%s dbname=%s sslmode=disable %s", port, cfg.User, cfg.Database, password(cfg.Password))
			return open(t, through, postgres.Config{Schema: schemas[channel]})
		},
	})
}

// blackhole is a proxy that can stop passing anything on, without closing a connection.
type blackhole struct {
	net.Listener
	to   string
	dark atomic.Bool
	mu   sync.Mutex
	open []net.Conn
	cut  atomic.Pointer[func(fromServer []byte) bool] // where it says true, the connection is cut instead of passing this on
}

func newBlackhole(t testing.TB) *blackhole {
	t.Helper()
	cfg, err := pgx.ParseConfig(dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h := &blackhole{Listener: l, to: fmt.Sprintf("%s:%d", cfg.Host, cfg.Port)}
	go h.serve()
	t.Cleanup(h.end)
	return h
}

func (h *blackhole) end() {
	h.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.open {
		c.Close()
	}
}

func (h *blackhole) dsn(t testing.TB, options ...string) string {
	cfg, err := pgx.ParseConfig(dsn(t))
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	text.WriteString(fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s sslmode=disable %s", h.Addr().(*net.TCPAddr).Port, cfg.User, cfg.Database, password(cfg.Password)))
	for _, o := range options {
		text.WriteString(" " + o)
	}
	return text.String()
}

func (h *blackhole) serve() {
	for {
		in, err := h.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", h.to)
		if err != nil {
			in.Close()
			continue
		}
		h.mu.Lock()
		h.open = append(h.open, in, out)
		h.mu.Unlock()
		go h.pass(in, out, false)
		go h.pass(out, in, true)
	}
}

func (h *blackhole) pass(from, to net.Conn, answers bool) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if h.dark.Load() {
			io.Copy(io.Discard, from)
			return
		}
		if cut := h.cut.Load(); answers && cut != nil && (*cut)(buf[:n]) {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
