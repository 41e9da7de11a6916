package postgres_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
)

// serves names the indexes that hot statements must read by, with the condition that makes each read a few rows.
var serves = map[string][]string{
	"lock":                {"instances_actor (actor_type, actor_id)", "instances_pkey (id)"},
	"load":                {"instances_actor (actor_type, actor_id)", "instances_pkey (id)", "claimed_pkey (instance_id)", "ready_pkey (instance_id)"},
	"unchanged":           {"instances_pkey (id)", "messages_key (instance_id, idempotency_key)"},
	"load_heads":          {"instances_pkey (id)", "messages_sequence (instance_id, sequence)"},
	"load_message":        {"messages_sequence (instance_id, sequence)"},
	"load_ids":            {"messages_pkey (id)"},
	"load_keys":           {"instances_actor (actor_type, actor_id)", "messages_key (instance_id, idempotency_key)"},
	"load_broadcasts":     {"broadcasts_pkey (instance_id)"},
	"instance_update":     {"instances_pkey (id)"},
	"message_update":      {"messages_pkey (id)"},
	"claimed_delete":      {"claimed_pkey (instance_id)"},
	"ready_delete":        {"ready_pkey (instance_id)"},
	"broadcast_delivered": {"broadcasts_id (id)"},
	"scan":                {"ready_pick (queue, priority, due_at)", "instances_pkey (id)", "messages_sequence (instance_id, sequence)"},
	"snapshot":            {"instances_actor (actor_type, actor_id)"},
	"stamps":              {"instances_actor (actor_type, actor_id)"},
	"message_by_id":       {"messages_pkey (id)", "instances_pkey (id)", "claimed_pkey (instance_id)"},
	"due":                 {"ready_pick (queue, priority, due_at)", "effects_due", "reminders_due", "sends_due"},
	"sends_due":           {"sends_due (due_at)"},
	"sends_before":        {"sends_pair (instance_id, target_type, target_id)"},
	"reminders_due":       {"reminders_due (due_at)"},
	"effects_claim":       {"effects_due (due_at)"},
	"broadcasts_take":     {"broadcasts_claimed (claimed_at)"},
	"expired_claims":      {"instances_pkey (id)"},
	"owned_instances":     {"instances_owner (owner)"},
	"finished":            {"messages_finished (finished_at)", "effects_instance (instance_id)", "sends_pair (instance_id)", "broadcasts_pkey (instance_id)"},
	"forget":              {"messages_pkey (id)", "effects_instance (instance_id)", "sends_pair (instance_id)", "broadcasts_pkey (instance_id)"},
	"instances":           {"instances_actor (actor_type, actor_id)", "effects_instance (instance_id)", "sends_pair (instance_id)", "dead_letters_instance (instance_id)"},
	"instances_states":    {"instances_actor (actor_type, actor_id)"},
	"instances_left":      {"instances_pkey (id)"},
	"reminders":           {"reminders_due", "instances_pkey (id)"},
	"sweep":               {"messages_sequence (instance_id)"},
	"dead_letters":        {"dead_letters_failed"},
	"dead_letters_after":  {"dead_letters_failed (failed_at)"},
	"counts":              {"ready_pick (queue, priority, due_at)", "instances_pkey (id)", "reminders_due (due_at)", "sends_due (due_at)", "effects_due (due_at)"},
}

// sorts are statements whose rows are sorted, a few of them or in a table that stays small. No other sorts under a lock.
var sorts = []string{"lock", "lock_wait", "unchanged", "alarms", "instance_insert", "send_insert", "effects_mine", "effects_renew", "effects_claim",
	"process_list", "process_suspects", "owned_instances", "effects_of", "finished"}

// Every statement keeps a promise, is sent by a store, and reads by an index that serves it, with statistics and
// without: what it costs does not grow with history.
func TestPlans(t *testing.T) {
	names, err := filepath.Glob("sql/*.sql")
	if err != nil || len(names) < 50 {
		t.Fatalf("%d statements, %v", len(names), err)
	}
	for _, statistics := range []string{"missing", "fresh"} {
		t.Run(statistics, func(t *testing.T) {
			o := openNew(t, lax)
			list := warmActors(t, o, 200)
			flush := flusher(t, o)
			for range 5 {
				enqueues(t, list, commits(list), flush)
			}
			f := &store.Flush{}
			for i := range 200 {
				f.Enqueues = append(f.Enqueues, tell(fmt.Sprint(i)))
			}
			flush(f)
			c := session(t)
			if statistics == "fresh" {
				mustExec(t, c, "ANALYZE")
			}
			mustExec(t, c, "BEGIN")
			mustExec(t, c, postgres.Settings(), "1000")
			for _, file := range names {
				name := strings.TrimSuffix(filepath.Base(file), ".sql")
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				first, _, _ := strings.Cut(string(text), "\n")
				if !strings.HasPrefix(first, "-- ") || !postgres.Declared(string(text)) {
					t.Errorf("%s: no promise in its first line, or not declared", name)
				}
				examine(t, name, plan(t, c, postgres.Placed(string(text), o.cfg.Schema, "lockstep_")))
			}
		})
	}
}

// whole are statements that read a small table as a whole.
var whole = regexp.MustCompile(`lockstep_(processes|schema_migrations)`)

func examine(t *testing.T, name string, steps []string) {
	for _, step := range steps {
		if strings.Contains(step, "Seq Scan on") && !whole.MatchString(step) {
			t.Errorf("%s: %s\n%s", name, step, strings.Join(steps, "\n"))
		}
		if strings.Contains(step, "Join Filter") && name != "scan" || // whose indexes have the same condition
			strings.Contains(step, "Sort Key") && !slices.Contains(sorts, name) {
			t.Errorf("%s: %s\n%s", name, step, strings.Join(steps, "\n"))
		}
	}
	for _, want := range serves[name] {
		index, columns, _ := strings.Cut(want, " (")
		if !slices.ContainsFunc(steps, func(step string) bool { return reads(step, "lockstep_"+index, strings.TrimSuffix(columns, ")")) }) {
			t.Errorf("%s does not read by %s:\n%s", name, want, strings.Join(steps, "\n"))
		}
	}
}

// reads says whether a step reads an index by a condition on these columns.
func reads(step, index, columns string) bool {
	if !strings.Contains(step, " "+index+" ") && !strings.HasSuffix(strings.Split(step, "  (cost")[0], " "+index) {
		return false
	}
	_, condition, _ := strings.Cut(step, "Index Cond: ")
	for column := range strings.SplitSeq(columns, ", ") {
		if column != "" && !regexp.MustCompile(`\((ROW\()?`+column+`\b`).MatchString(condition) {
			return false
		}
	}
	return true
}

// plan is what the server would do, a step a scan with its condition; nothing where the statement has no plan.
func plan(t *testing.T, c *pgx.Conn, text string) (steps []string) {
	t.Helper()
	mustExec(t, c, "SAVEPOINT plan")
	defer mustExec(t, c, "ROLLBACK TO SAVEPOINT plan")
	params := 0
	for n := 1; strings.Contains(text, fmt.Sprintf("$%d", n)); n++ {
		params = n
	}
	if regexp.MustCompile(`(?m)^(BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE)`).MatchString(text) {
		return nil
	}
	name := fmt.Sprintf("plan_%d", time.Now().UnixNano())
	mustExec(t, c, "PREPARE "+name+" AS "+text)
	execute := "EXPLAIN EXECUTE " + name
	if params > 0 {
		execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", params), ", ") + ")"
	}
	rows, err := c.Query(t.Context(), execute, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	for _, line := range lines {
		if strings.Contains(line, "Index Cond:") && len(steps) > 0 {
			steps[len(steps)-1] += " " + strings.TrimSpace(line)
			continue
		}
		steps = append(steps, line)
	}
	return steps
}
