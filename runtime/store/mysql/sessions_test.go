package mysql_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// hostile is a session as unlike ours as can be. D30: with innodb_snapshot_isolation where the server has it.
func hostile(t testing.TB) map[string]string {
	need(t)
	params := map[string]string{
		"autocommit": "0", "sql_mode": "'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES'", "time_zone": "'+09:30'",
		"innodb_lock_wait_timeout": "1", "tx_isolation": "'SERIALIZABLE'", "character_set_results": "latin1",
		"collation_connection": "latin1_general_ci", "character_set_client": "latin1",
	}
	if !strings.Contains(ask(t, here.root, "SELECT VERSION()"), "MariaDB") {
		params["transaction_isolation"] = params["tx_isolation"]
		delete(params, "tx_isolation")
	} else if hasSnapshotIsolation(t) {
		params["innodb_snapshot_isolation"] = "1"
	}
	return params
}

func hasSnapshotIsolation(t testing.TB) bool {
	rows, err := here.root.Query("SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	return rows.Next()
}

type querier interface {
	QueryRow(query string, args ...any) *sql.Row
}

// ask is the one text that a query answers with.
func ask(t testing.TB, q querier, query string, args ...any) string {
	t.Helper()
	var s string
	if err := q.QueryRow(query, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s
}

// D01, D30: the suite, a sample of it unless all of it is asked for, in a database of latin1, on an application's pool
// whose sessions are hostile and which prepares its statements.
func TestStoreOnAnApplicationsPool(t *testing.T) {
	params := hostile(t)
	storetest.Run(t, func(t *testing.T) store.Store {
		sample(t, "/D01/", "/D02/", "/D03/", "/D05/")
		c := here.latin1.Clone()
		c.ClientFoundRows, c.ParseTime = true, true
		cfg := mysql.Config{Prefix: emptied(t, here.latin1)} // first, so that the pool is closed before they are emptied
		return borrow(t, pool(t, c, params), cfg)
	})
}

// The application's session comes back as it was, whatever happened on it, and a pool of one is enough.
func TestBorrowedSessionsComeBackAsTheyWere(t *testing.T) {
	params := hostile(t)
	db := pool(t, here.latin1, params)
	db.SetMaxOpenConns(1)
	var names []string
	for name := range params {
		names = append(names, "@@SESSION."+name)
	}
	settings := func() string {
		return ask(t, db, "SELECT CONCAT_WS('|', CONNECTION_ID(), "+strings.Join(names, ", ")+")")
	}
	before := settings()
	cfg := mysql.Config{Prefix: prefix()}
	clean(t, here.latin1, cfg.Prefix)
	s := borrow(t, db, cfg)
	e := message("a")
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
	bad := message("b")
	bad.Message.Operation = strings.Repeat("x", 500)
	flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{bad}})
	if e.Outcome != store.Done || bad.Outcome != store.Refused {
		t.Errorf("outcomes %s, %s", e.Outcome, bad.Outcome)
	}
	if _, err := s.Snapshot(t.Context(), store.Key{Type: "cart", ID: "a"}); err != nil {
		t.Error(err)
	}
	if after := settings(); after != before {
		t.Errorf("the session was\n%s\nand is\n%s", before, after)
	}
}

// Whatever the DSN says, the store's own sessions are the store's.
func TestOwnSessionsIgnoreTheDSN(t *testing.T) {
	need(t)
	c := here.latin1.Clone()
	c.Params = hostile(t)
	c.ClientFoundRows, c.ParseTime, c.Collation = true, true, "latin1_general_ci"
	cfg := mysql.Config{Prefix: prefix()}
	clean(t, here.latin1, cfg.Prefix)
	s := open(t, c.FormatDSN(), cfg)
	texts := []string{"é", "e\u0301", "😀", `\`, `'`, `"`, "a\u00a0"}
	for _, id := range texts {
		e := message(id)
		e.Message.Arguments = fmt.Appendf(nil, "%q", id)
		flushed(t, s, &store.Flush{Enqueues: []*store.Enqueue{e}})
		if e.Outcome != store.Done || e.Message.Sequence != 1 {
			t.Errorf("%q: %s, sequence %d, %v", id, e.Outcome, e.Message.Sequence, e.Err)
		}
		m, _, _, err := s.Message(t.Context(), e.Message.ID)
		if err != nil || m.ActorID != id || string(m.Arguments) != fmt.Sprintf("%q", id) {
			t.Errorf("%q came back as %q with %s, %v", id, m.ActorID, m.Arguments, err)
		}
	}
	if got := ask(t, here.root, "SELECT COUNT(*) FROM "+here.latin1.DBName+"."+cfg.Prefix+"instances"); got != fmt.Sprint(len(texts)) {
		t.Errorf("%s instances", got)
	}
	// What is stored is UTF-8 in the column's own character set, not twice encoded.
	if got := ask(t, here.root, "SELECT HEX(arguments) FROM "+here.latin1.DBName+"."+cfg.Prefix+"messages WHERE arguments LIKE '%😀%'"); got != "22F09F988022" {
		t.Errorf("stored as %s", got)
	}
}

// Every table is InnoDB and utf8mb4, in a database of latin1 too.
func TestTablesHaveOurCharacterSet(t *testing.T) {
	s := fresh(t, here.latin1)
	rows, err := here.root.Query(`SELECT table_name, engine, table_collation FROM information_schema.tables WHERE table_schema = ?
		AND table_name LIKE ?`, here.latin1.DBName, strings.ReplaceAll(s.cfg.Prefix, "_", `\_`)+"%")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var name, engine, collation string
		if err := rows.Scan(&name, &engine, &collation); err != nil {
			t.Fatal(err)
		}
		if n++; engine != "InnoDB" || collation != "utf8mb4_bin" {
			t.Errorf("%s: %s, %s", name, engine, collation)
		}
	}
	if n != 13 {
		t.Errorf("%d tables", n)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []mysql.Config{
		{Prefix: "Shop_"}, {Prefix: "1"}, {Prefix: "a-b"}, {Prefix: strings.Repeat("x", 31)}, {Connections: -1}, {Document: -1},
		{LockWait: 1}, {LockWait: 5e9, Limit: 5e9},
	} {
		if _, err := mysql.Open(t.Context(), "root@tcp(127.0.0.1:1)/x", cfg); err == nil || errors.Is(err, store.ErrTransient) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	for _, dsn := range []string{"", "nonsense", "root@tcp(127.0.0.1:1)/"} {
		if _, err := mysql.Open(t.Context(), dsn); err == nil || errors.Is(err, store.ErrTransient) {
			t.Errorf("%q: %v", dsn, err)
		}
	}
	if _, err := mysql.Open(t.Context(), "root@tcp(127.0.0.1:1)/x", mysql.Config{}, mysql.Config{}); err == nil {
		t.Error("two Configs")
	}
	if _, err := mysql.Open(t.Context(), "root@tcp(127.0.0.1:1)/x"); !errors.Is(err, store.ErrTransient) {
		t.Errorf("nobody listens: %v", err)
	}
}
