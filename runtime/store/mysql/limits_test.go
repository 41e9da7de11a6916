package mysql_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
)

// D08: a server whose packets cannot take the largest document is refused when the store opens, with both numbers.
func TestPacketLimitIsReported(t *testing.T) {
	need(t)
	p := prefix()
	clean(t, here.utf8, p)
	_, err := mysql.Open(t.Context(), here.utf8.FormatDSN(), mysql.Config{Prefix: p, Document: 1 << 30})
	limit, ok := errors.AsType[*mysql.PacketLimit](err)
	if !ok || limit.Document != 1<<30 || limit.Packet <= 0 || !strings.Contains(err.Error(), "max_allowed_packet") {
		t.Fatalf("%v", err)
	}
}

// D08: documents as large as promised are stored byte for byte, even such as grow when they are quoted; many of them
// do not add up to one packet; one that cannot be stored is refused, and its neighbours are not.
func TestLargeDocuments(t *testing.T) {
	s := fresh(t, here.utf8)
	large := []string{
		`"` + strings.Repeat("x", 5<<20-2) + `"`,
		`"` + strings.Repeat(`\"`, 5<<19-1) + `"`,
		`"` + strings.Repeat(`\\`, 5<<20-1) + `"`, // twice as large, and twice that when quoted
	}
	f := &store.Flush{}
	for _, doc := range large {
		e := message("a")
		e.Message.Arguments = json.RawMessage(doc)
		f.Enqueues = append(f.Enqueues, e)
	}
	flushed(t, s, f)
	for i, e := range f.Enqueues {
		m, _, _, err := s.Message(t.Context(), e.Message.ID)
		if err != nil || e.Outcome != store.Done || string(m.Arguments) != large[i] {
			t.Errorf("document %d: %s %v, %v, %d bytes", i, e.Outcome, e.Err, err, len(m.Arguments))
		}
	}
	huge, small := asked(t, s, "huge"), asked(t, s, "small")
	bad, good := finishing(huge), finishing(small)
	bad.State = json.RawMessage(`"` + strings.Repeat("x", 20<<20) + `"`)
	e := message("e")
	attempted(t, s, &store.Flush{Commits: []*store.Commit{bad, good}, Enqueues: []*store.Enqueue{e}})
	if bad.Outcome != store.Refused || bad.Err == nil || good.Outcome != store.Done || e.Outcome != store.Done {
		t.Errorf("%s %v, %s, %s", bad.Outcome, bad.Err, good.Outcome, e.Outcome)
	}
	flushed(t, s, &store.Flush{Commits: []*store.Commit{finishing(huge)}})
}

// saboteur is a connection that is cut at the next COMMIT.
type saboteur struct {
	net.Conn
	how *atomic.Int64
}

const (
	sound   = iota
	lost    // before the server has it
	unheard // after the server has it
)

func (s saboteur) Write(b []byte) (int, error) {
	if how := s.how.Load(); how != sound && len(b) == 5+len("COMMIT") && string(b[5:]) == "COMMIT" {
		s.how.Store(sound)
		if how == unheard {
			s.Conn.Write(b)
			one := make([]byte, 1)
			s.Conn.Read(one) // it has answered
		}
		s.Conn.Close()
		return len(b), nil
	}
	return s.Conn.Write(b)
}

// D27: where the answer to a COMMIT is lost the error is ErrUnclear, whether it happened or not, and trying again
// doubles nothing.
func TestLostCommitIsUnclear(t *testing.T) {
	s := fresh(t, here.utf8)
	how := new(atomic.Int64)
	driver.RegisterDialContext("sabotaged", func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, here.utf8.Net, addr)
		return saboteur{c, how}, err
	})
	c := here.utf8.Clone()
	c.Net = "sabotaged"
	cut := open(t, c.FormatDSN(), s.cfg)
	for mode, happened := range map[int64]bool{lost: false, unheard: true} {
		a := asked(t, cut, "a")
		commit, e := finishing(a), message("b")
		how.Store(mode)
		err := cut.Flush(t.Context(), &store.Flush{Commits: []*store.Commit{commit}, Enqueues: []*store.Enqueue{e}})
		if !errors.Is(err, store.ErrUnclear) {
			t.Fatalf("happened %v: %v", happened, err)
		}
		again := *e
		attempted(t, cut, &store.Flush{Commits: []*store.Commit{commit}, Enqueues: []*store.Enqueue{&again}})
		wantCommit, wantEnqueue := store.Done, store.Done
		if happened {
			wantCommit, wantEnqueue = store.Fenced, store.Duplicate
		}
		if commit.Outcome != wantCommit || again.Outcome != wantEnqueue || again.Message.ID != e.Message.ID {
			t.Errorf("happened %v: then %s and %s", happened, commit.Outcome, again.Outcome)
		}
		attempted(t, cut, &store.Flush{Releases: []*store.Release{{Fence: a.Fence}}})
	}
	last := message("b")
	flushed(t, cut, &store.Flush{Enqueues: []*store.Enqueue{last}})
	if last.Message.Sequence != 3 {
		t.Errorf("sequence %d, want 3", last.Message.Sequence)
	}
}

// A connection that the server killed is replaced, and the verb goes through.
func TestKilledConnectionsAreReplaced(t *testing.T) {
	s := fresh(t, here.utf8)
	c := user(t, "ALL")
	mine := open(t, c.FormatDSN(), s.cfg)
	for range 3 {
		a := asked(t, mine, "a")
		for _, id := range connections(t, c.User) {
			here.root.Exec("KILL " + id)
		}
		commit := finishing(a)
		commit.Yield = true
		flushed(t, mine, &store.Flush{Commits: []*store.Commit{commit}})
		for _, id := range connections(t, c.User) {
			here.root.Exec("KILL " + id)
		}
		if _, err := mine.Snapshot(t.Context(), store.Key{Type: "cart", ID: "a"}); err != nil {
			t.Error(err)
		}
	}
}

// D36: a caller whose time is up leaves at once; its connection stays sound and in the pool.
func TestCancelledReadersLeaveConnectionsSound(t *testing.T) {
	s := fresh(t, here.utf8)
	c := user(t, "ALL")
	mine := open(t, c.FormatDSN(), mysql.Config{Prefix: s.cfg.Prefix, Connections: 2})
	asked(t, mine, "a")
	before := connections(t, c.User)
	together(50, func(int) {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, err := mine.Snapshot(ctx, store.Key{Type: "cart", ID: "a"}); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	if _, err := mine.Snapshot(t.Context(), store.Key{Type: "cart", ID: "a"}); err != nil {
		t.Error(err)
	}
	blocker, err := pool(t, here.utf8, nil).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer blocker.Close()
	if _, err := blocker.ExecContext(t.Context(), "LOCK TABLES "+s.cfg.Prefix+"instances WRITE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := mine.Snapshot(ctx, store.Key{Type: "cart", ID: "a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the server does not answer: %v", err)
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("the caller left after %v", took)
	}
	if _, err := blocker.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	after := connections(t, c.User)
	if len(after) > 2 || !slicesIntersect(before, after) {
		t.Errorf("connections %v, then %v", before, after)
	}
	if err := mine.Close(); err != nil {
		t.Error(err)
	}
	if err := mine.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{message("a")}}); err == nil || errors.Is(err, store.ErrTransient) {
		t.Errorf("closed: %v", err)
	}
}
