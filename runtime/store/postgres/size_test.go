package postgres_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// filling makes a database of $n messages over a tenth as many instances; one in ten of these waits, one in a hundred
// is claimed, and each has its share of what else there is.
var filling = []string{
	`INSERT INTO lockstep.lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, revision, message_id, created_at, last_used_at, state_version, state,
		owner, token, generation, lease_until)
	SELECT 'i' || n, 'cart', 'a' || n, CASE WHEN n % 10 = 0 THEN 10 ELSE 11 END, 11, 9, 'm' || n || '-9', 1, 1, 1, '{"n":9}',
		CASE WHEN n % 100 = 0 THEN 'p' END, CASE WHEN n % 100 = 0 THEN 't' END, 1, CASE WHEN n % 100 = 0 THEN 1::bigint << 60 ELSE 0 END
	FROM generate_series(1, $n / 10) n`,
	`INSERT INTO lockstep.lockstep_messages (id, instance_id, sequence, operation, arguments, origin, attempts, max_attempts, enqueued_at, available_at, finished_at, status, result)
	SELECT 'm' || n || '-' || s, 'i' || n, s, 'add', '{"qty":1}', 'client', 1, 5, s, s, CASE WHEN s = 10 AND n % 10 = 0 THEN NULL ELSE s END,
		CASE WHEN s = 10 AND n % 10 = 0 THEN 'live' ELSE 'completed' END, '1'
	FROM generate_series(1, $n / 10) n, generate_series(1, 10) s`,
	`INSERT INTO lockstep.lockstep_ready (instance_id, sequence, message_id, actor_type, due_at)
	SELECT 'i' || n, 10, 'm' || n || '-10', 'cart', n FROM generate_series(10, $n / 10, 10) n WHERE n % 100 <> 0`,
	`INSERT INTO lockstep.lockstep_claimed (instance_id, sequence, message_id, claimed_at)
	SELECT 'i' || n, 10, 'm' || n || '-10', 1 FROM generate_series(100, $n / 10, 100) n`,
	`INSERT INTO lockstep.lockstep_effects (id, instance_id, message_id, name, max_attempts, due_at, state)
	SELECT 'e' || n, 'i' || n, 'm' || n || '-9', 'charge', 5, n, 'pending' FROM generate_series(1, $n / 100) n`,
	`INSERT INTO lockstep.lockstep_reminders (id, instance_id, operation, key, interval, catch_up, next_at, due_at)
	SELECT 'r' || n, 'i' || n, 'expire', '', 0, 'latest', n, n FROM generate_series(1, $n / 100) n`,
	`INSERT INTO lockstep.lockstep_sends (id, instance_id, message_id, target_type, target_id, operation, max_attempts, available_at, due_at)
	SELECT 's' || n, 'i' || n, 'm' || n || '-9', 'cart', 'a' || n + 1, 'add', 5, n, n FROM generate_series(1, $n / 100) n`,
	`INSERT INTO lockstep.lockstep_broadcasts (instance_id, id, actor_type, actor_id, revision, previous, message_id, names, shared, owner, claimed_at)
	SELECT 'i' || n, 'b' || n, 'cart', 'a' || n, 9, 0, 'm' || n || '-9', '[]', '{}', 'p', n FROM generate_series(1, $n / 100) n`,
	`INSERT INTO lockstep.lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, origin, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack)
	SELECT 'd' || n, 'i' || n, 'cart', 'a' || n, 1, 'add', 'client', 5, 5, n, n, n, 'x', 'x', '' FROM generate_series(1, $n / 100) n`,
}

// hot are statements with their arguments, and how many pages of the cache each may look at.
var hot = []struct {
	name  string
	pages int
	args  string
}{
	{"scan", 300, `0, ARRAY['cart'], ARRAY[]::text[], 'q', 5`},
	{"lock", 100, `ARRAY['i1', 'i2'], ARRAY['cart'], ARRAY['a3']`},
	{"load", 120, `ARRAY['i1', 'i2'], ARRAY['cart'], ARRAY['a3']`},
	{"load_heads", 60, `ARRAY['i10', 'i20'], ARRAY[0, 1]`},
	{"load_ids", 60, `ARRAY['m1-1', 'none']`},
	{"load_keys", 60, `ARRAY['cart'], ARRAY['a1'], ARRAY['k']`},
	{"load_broadcasts", 40, `ARRAY['i1', 'i2']`},
	{"snapshot", 20, `'cart', 'a7'`},
	{"stamps", 60, `ARRAY['cart', 'cart'], ARRAY['a7', 'a8']`},
	{"message_by_id", 40, `'m7-3', 0`},
	{"due", 120, `0, ARRAY['cart'], ARRAY['charge']`},
	{"claimed_delete", 40, `ARRAY['i100']`},
	{"ready_delete", 60, `ARRAY['i10']`},
	{"broadcast_delivered", 60, `ARRAY['b1']`},
}

// D31: at a million messages with LOCKSTEP_TEST_FULL=1, else at thirty thousand: with statistics missing and fresh, a
// hot statement reads by its index, sorts nothing under a lock, and looks at a number of pages that does not grow.
func TestD31PlansAtSize(t *testing.T) {
	size := 30_000
	if os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
		size = 1_000_000
	}
	o := openNew(t, lax)
	c := session(t)
	mustExec(t, c, "SET synchronous_commit = off")
	for _, text := range filling {
		mustExec(t, c, postgres.Placed(strings.ReplaceAll(text, "$n", fmt.Sprint(size)), o.cfg.Schema, "lockstep_"))
	}
	for _, statistics := range []string{"missing", "fresh"} {
		if statistics == "fresh" {
			mustExec(t, c, "ANALYZE")
		}
		mustExec(t, c, "BEGIN")
		mustExec(t, c, postgres.Settings(), "1000")
		for _, h := range hot {
			text, err := os.ReadFile("sql/" + h.name + ".sql")
			if err != nil {
				t.Fatal(err)
			}
			placed := postgres.Placed(string(text), o.cfg.Schema, "lockstep_")
			examine(t, h.name, plan(t, c, placed))
			pages, took := measured(t, c, h.name+"_"+statistics, placed, h.args)
			t.Logf("%d messages, statistics %s: %-20s %4d pages %7.2f ms", size, statistics, h.name, pages, took)
			if pages > h.pages {
				t.Errorf("%s with statistics %s looks at %d pages, want at most %d", h.name, statistics, pages, h.pages)
			}
		}
		mustExec(t, c, "ROLLBACK")
	}
}

// measured runs a statement, takes back what it did, and says what it looked at and how long it took, in ms.
func measured(t *testing.T, c *pgx.Conn, name, text, args string) (pages int, took float64) {
	t.Helper()
	mustExec(t, c, "SAVEPOINT measured")
	defer mustExec(t, c, "ROLLBACK TO SAVEPOINT measured")
	mustExec(t, c, "PREPARE "+name+" AS "+text)
	var raw string
	if err := c.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) EXECUTE "+name+"("+args+")", pgx.QueryExecModeSimpleProtocol).Scan(&raw); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var explained []struct {
		Plan struct {
			Hit  int `json:"Shared Hit Blocks"`
			Read int `json:"Shared Read Blocks"`
		}
		Took float64 `json:"Execution Time"`
	}
	if err := json.Unmarshal([]byte(raw), &explained); err != nil {
		t.Fatal(err)
	}
	return explained[0].Plan.Hit + explained[0].Plan.Read, explained[0].Took
}
