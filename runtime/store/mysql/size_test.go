package mysql_test

import (
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/runtime/store"
)

// filling makes a database of messages over a tenth as many instances $n; one in ten of these waits.
var filling = []string{
	`INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, revision, message_id, created_at, last_used_at, state_version, state)
	SELECT CONCAT('i', n), 'cart', CONCAT('a', n), IF(n % 10 = 0, 10, 11), 11, CONCAT('m', n, '-10'), 9, CONCAT('m', n, '-9'), 1, 1, 1, '{"n":9}' FROM $numbers`,
	`INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result)
	SELECT CONCAT('m', n, '-', $s), CONCAT('i', n), $s, CONCAT('m', n, '-', $s - 1), 'add', '{"qty":1}', 'client', 1, 5, $s, $s, IF($s = 10 AND n % 10 = 0, NULL, $s),
		IF($s = 10 AND n % 10 = 0, 'live', 'completed'), '1' FROM $numbers`,
	`INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, due_at)
	SELECT CONCAT('i', n), 10, CONCAT('m', n, '-10'), 'cart', n FROM $numbers WHERE n % 10 = 0`,
}

func fill(t *testing.T, s opened, instances int) {
	t.Helper()
	db := pool(t, here.utf8, nil)
	const digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
	var from, sum []string
	for i, place := 0, 1; place < instances; i, place = i+1, place*10 {
		from, sum = append(from, fmt.Sprintf("%s x%d", digits, i)), append(sum, fmt.Sprintf("x%d.d * %d", i, place))
	}
	numbers := fmt.Sprintf("(SELECT 1 + %s AS n FROM %s HAVING n <= %d) numbers", strings.Join(sum, " + "), strings.Join(from, ", "), instances)
	for _, text := range filling {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "$numbers", numbers), "lockstep_", s.cfg.Prefix)
		last := 1
		if strings.Contains(text, "$s") {
			last = 10
		}
		for sequence := 1; sequence <= last; sequence++ {
			if _, err := db.Exec(strings.ReplaceAll(text, "$s", fmt.Sprint(sequence))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// rowsRead is how many rows a connection has looked at so far.
func rowsRead(t *testing.T, db *sql.DB) (n int) {
	t.Helper()
	rows, err := db.Query("SHOW SESSION STATUS LIKE 'Handler_read%'")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value int
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		n += value
	}
	return n
}

// D31: at a million messages and 10,000 ready actors with LOCKSTEP_TEST_FULL=1, else at a thirtieth: with statistics
// missing and fresh, a verb looks at a number of rows that does not grow, and a claim is served at once while another
// keeps its transaction, and what it took, open.
func TestD31RowsReadAtSize(t *testing.T) {
	instances := 3_000
	if os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
		instances = 100_000
	}
	s := fresh(t, here.utf8)
	fill(t, s, instances)
	db := pool(t, here.utf8, nil)
	db.SetMaxOpenConns(1)
	one := borrow(t, db, s.cfg)
	ctx, taken := t.Context(), map[string]bool{}
	scan := func() *store.Flush {
		return &store.Flush{Claims: []*store.Scan{{Claim: store.Claim{Owner: newID(), Token: newID(), Lease: time.Hour}, Types: []string{"cart"}, Limit: 5}}}
	}
	for _, statistics := range []string{"missing", "fresh"} {
		if statistics == "fresh" {
			for _, table := range []string{"instances", "messages", "ready"} {
				execRows(t, db, "ANALYZE TABLE "+s.cfg.Prefix+table)
			}
		}
		for _, verb := range []struct {
			name string
			most int
			do   func() error
		}{
			{"claim 5", 200, func() error {
				f := scan()
				err := one.Flush(ctx, f)
				for _, a := range f.Claims[0].Activations {
					if taken[a.Fence.Instance] {
						t.Errorf("instance %s is claimed twice", a.Fence.Instance)
					}
					taken[a.Fence.Instance] = true
				}
				if n := len(f.Claims[0].Activations); n != 5 {
					t.Errorf("%d claims, want 5", n)
				}
				return err
			}},
			{"enqueue", 100, func() error { return one.Flush(ctx, &store.Flush{Enqueues: []*store.Enqueue{message("a1")}}) }},
			{"snapshot", 40, func() error { _, err := one.Snapshot(ctx, store.Key{Type: "cart", ID: "a7"}); return err }},
			{"stamps", 60, func() error {
				_, err := one.Stamps(ctx, []store.Key{{Type: "cart", ID: "a7"}, {Type: "cart", ID: "a8"}})
				return err
			}},
			{"message", 60, func() error { _, _, _, err := one.Message(ctx, "m7-3"); return err }},
			{"due", 120, func() error { _, err := one.Due(ctx, []string{"cart"}, []string{"charge"}); return err }},
		} {
			before, begun := rowsRead(t, db), time.Now()
			if err := verb.do(); err != nil {
				t.Fatalf("%s: %v", verb.name, err)
			}
			took := time.Since(begun)
			rows := rowsRead(t, db) - before
			t.Logf("%d messages, statistics %s: %-10s %4d rows read, %v", 10*instances, statistics, verb.name, rows, took.Round(10*time.Microsecond))
			if rows > verb.most {
				t.Errorf("%s with statistics %s reads %d rows, want at most %d", verb.name, statistics, rows, verb.most)
			}
		}
	}
	tx := begin(t, "READ COMMITTED")
	execute(t, tx, "SELECT * FROM "+s.cfg.Prefix+"ready r FORCE INDEX ("+s.cfg.Prefix+"ready_pick) STRAIGHT_JOIN "+s.cfg.Prefix+
		"instances i ON i.id = r.instance_id WHERE r.queue = '' AND r.priority = 0 AND i.owner IS NULL ORDER BY r.due_at LIMIT 5 FOR UPDATE")
	f, begun := scan(), time.Now()
	flushed(t, s, f)
	if n, took := len(f.Claims[0].Activations), time.Since(begun); n != 5 || took > 2*time.Second {
		t.Errorf("beside an open claim %d are claimed in %v, want 5 at once", n, took)
	}
}

// execRows runs a statement that answers with rows.
func execRows(t *testing.T, db *sql.DB, text string) {
	t.Helper()
	rows, err := db.Query(text)
	if err != nil {
		t.Fatal(err)
	}
	rows.Close()
}
