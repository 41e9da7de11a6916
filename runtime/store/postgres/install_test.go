package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// D40: eight processes open an empty database at once, some give up in the middle; one installs, the others wait and
// go on.
func TestSeveralInstallAtOnce(t *testing.T) {
	const rounds = 5 // 20 in full
	for round := range rounds {
		cfg := postgres.Config{Schema: newSchema(), NoNotify: true}
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if i == 7 { // one is killed on the way
					time.AfterFunc(time.Duration(round)*5*time.Millisecond, cancel)
				}
				s, err := postgres.Open(ctx, dsn(t, lax, "pool_max_conns=2"), cfg)
				if err != nil {
					if i != 7 {
						t.Errorf("process %d: %v", i, err)
					}
					return
				}
				defer s.Close()
				e := tell("a")
				f := &store.Flush{Enqueues: []*store.Enqueue{e}}
				for e.Outcome != store.Done {
					if err := s.Flush(t.Context(), f); err != nil {
						t.Errorf("process %d: %v", i, err)
						return
					}
				}
			})
		}
		wg.Wait()
		steps, err := os.ReadDir("migrations")
		if err != nil {
			t.Fatal(err)
		}
		var versions int
		c := session(t)
		if err := c.QueryRow(t.Context(), "SELECT count(*) FROM "+cfg.Schema+".lockstep_schema_migrations").Scan(&versions); err != nil || versions != len(steps) {
			t.Fatalf("%d versions are recorded of %d, %v", versions, len(steps), err)
		}
	}
}

// D40: an older build is refused in words, and so is what is not ours.
func TestForeignAndNewerSchemasAreRefused(t *testing.T) {
	c := session(t)
	o := openNew(t, lax)
	mustExec(t, c, fmt.Sprintf("INSERT INTO %s.lockstep_schema_migrations VALUES (99, 'lockstep-go/postgres', 'x', 0)", o.cfg.Schema))
	if _, err := postgres.Open(t.Context(), o.dsn, o.cfg); !errors.Is(err, store.ErrSchemaTooNew) || !strings.Contains(err.Error(), "99") {
		t.Errorf("a newer schema: %v", err)
	}
	for what, change := range map[string]string{
		"tables of another library":  "UPDATE %s.lockstep_schema_migrations SET identity = 'somebody'",
		"a table with other columns": "ALTER TABLE %s.lockstep_schema_migrations DROP COLUMN identity",
	} {
		o := openNew(t, lax)
		mustExec(t, c, fmt.Sprintf(change, o.cfg.Schema))
		_, err := postgres.Open(t.Context(), o.dsn, o.cfg)
		if _, ok := errors.AsType[*postgres.ForeignSchema](err); !ok {
			t.Errorf("%s: %v, want a *ForeignSchema", what, err)
		}
	}
}

// D40: who may not change the schema opens one that is complete.
func TestNoRightsAreNeededWhereNothingIsToDo(t *testing.T) {
	o := openNew(t, lax)
	c := session(t)
	role := "lockstep_" + o.cfg.Schema + fmt.Sprint(time.Now().UnixNano()%1_000_000)
	mustExec(t, c, "CREATE ROLE "+role)
	t.Cleanup(func() {
		mustExec(t, c, "DROP OWNED BY "+role)
		mustExec(t, c, "DROP ROLE "+role)
	})
	mustExec(t, c, fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", o.cfg.Schema, role))
	mustExec(t, c, fmt.Sprintf("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %s TO %s", o.cfg.Schema, role))
	poor := open(t, dsn(t, "options='-c role="+role+"'"), o.cfg)
	e := tell("a")
	e.Claim = &store.Claim{Owner: "p", Token: "t", Lease: time.Minute}
	flush(t, poor, &store.Flush{Enqueues: []*store.Enqueue{e}})
	if e.Activation == nil {
		t.Errorf("%s, not claimed", e.Outcome)
	}
	if _, err := postgres.Open(t.Context(), poor.dsn, postgres.Config{Schema: newSchema()}); err == nil {
		t.Error("it made a schema: the role has rights after all")
	}
}

// Several stores share a database by schema and prefix, and do not see each other.
func TestSchemaAndPrefix(t *testing.T) {
	schema := newSchema() + " With Space"
	configs := []postgres.Config{{Schema: schema}, {Schema: schema, Prefix: "shop_"}, {Schema: newSchema(), Prefix: "shop_"}}
	for _, cfg := range configs {
		s := open(t, dsn(t, lax), cfg)
		e := tell("a")
		flush(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
		if e.Message.Sequence != 1 {
			t.Errorf("%+v: sequence %d, want 1", cfg, e.Message.Sequence)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := s.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{tell("a")}}); err == nil {
			t.Error("a closed store works")
		}
	}
	p := pool(t, dsn(t, "search_path="+configs[2].Schema))
	s, err := postgres.New(t.Context(), p, postgres.Config{Prefix: "shop_"})
	if err != nil {
		t.Fatal(err)
	}
	e := tell("a")
	flush(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
	if e.Message.Sequence != 2 {
		t.Errorf("by the current schema: sequence %d, want 2", e.Message.Sequence)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Ping(t.Context()); err != nil {
		t.Errorf("the application's pool was closed with the store: %v", err)
	}
	for _, bad := range []string{"Shop_", "1shop", "shop-", strings.Repeat("x", 33)} {
		if _, err := postgres.Open(t.Context(), dsn(t), postgres.Config{Prefix: bad}); err == nil {
			t.Errorf("the prefix %q is taken", bad)
		}
	}
}

// DESIGN §3: a server that acknowledges before the disk has it is reported.
func TestAWeakCommitIsReported(t *testing.T) {
	if w := openNew(t).Warnings(); len(w) > 0 {
		t.Skipf("this server is weak by itself: %v", w)
	}
	w := openNew(t, lax).Warnings()
	if len(w) != 1 {
		t.Fatalf("warnings: %v", w)
	}
	weak, ok := errors.AsType[*postgres.WeakCommit](w[0])
	if !ok || weak.Setting != "synchronous_commit" || weak.Value != "off" {
		t.Errorf("got %v", w[0])
	}
}

// G34: a commit whose answer is lost is unclear and not a failure; trying the enqueue again finds its own row.
func TestALostAnswerIsUnclear(t *testing.T) {
	h := newBlackhole(t)
	o := open(t, h.dsn(t), postgres.Config{Schema: newSchema(), NoNotify: true})
	flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{tell("warm")}})
	flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{tell("warm")}})
	cut := func(answer []byte) bool { return strings.Contains(string(answer), "COMMIT\x00") }
	h.cut.Store(&cut)
	e := tell("a")
	err := o.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{e}})
	if !errors.Is(err, store.ErrUnclear) {
		t.Fatalf("got %v, want unclear", err)
	}
	h.cut.Store(nil)
	flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{e}})
	if e.Outcome != store.Duplicate || e.Message.Sequence != 1 {
		t.Errorf("again: %s at sequence %d", e.Outcome, e.Message.Sequence)
	}
	begin := func(answer []byte) bool { return strings.Contains(string(answer), "BEGIN\x00") }
	h.cut.Store(&begin)
	if err := o.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{tell("b")}}); !errors.Is(err, store.ErrTransient) || errors.Is(err, store.ErrUnclear) {
		t.Errorf("cut before anything was written: %v, want transient", err)
	}
}

// Errors of the server have the meaning that the contract names.
func TestErrorsAreTranslated(t *testing.T) {
	o := open(t, dsn(t, lax), postgres.Config{Schema: newSchema(), Limit: 2 * time.Second})
	c := session(t)
	flush(t, o, &store.Flush{Enqueues: []*store.Enqueue{tell("a")}})
	mustExec(t, c, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	for i := range 20 { // each idle connection is found broken once
		err := o.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{tell("a")}})
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrTransient) || i == 19 {
			t.Fatalf("a terminated backend, try %d: %v", i, err)
		}
	}
	if _, err := postgres.Open(t.Context(), "host=127.0.0.1 port=1 user=x dbname=x connect_timeout=2"); err == nil || !errors.Is(err, store.ErrTransient) {
		t.Errorf("nobody there: %v", err)
	}
	mustExec(t, c, "BEGIN")
	mustExec(t, c, fmt.Sprintf("LOCK TABLE %s.lockstep_messages IN ACCESS EXCLUSIVE MODE", o.cfg.Schema))
	begun := time.Now()
	err := o.Flush(t.Context(), &store.Flush{Enqueues: []*store.Enqueue{tell("b")}})
	if !errors.Is(err, store.ErrTransient) || time.Since(begun) > 8*time.Second {
		t.Errorf("a table that is locked: %v after %v", err, time.Since(begun))
	}
	mustExec(t, c, "ROLLBACK")
}
