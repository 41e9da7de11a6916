package mysql_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
)

// whole are statements that read a table from its beginning, and why they may.
var whole = map[string]string{
	"owned_broadcasts": "only what is not handed on yet, and only when a process ends",
	"process_list":     "a row for each process",
	"process_old":      "a row for each process",
	"process_suspects": "a row for each process",
}

// sorted are statements that sort what they found.
var sorted = map[string]string{
	"process_list": "a row for each process", "sweep_read": "one batch", "sends_first": "groups of one batch",
}

var (
	number = regexp.MustCompile(`((?:sequence|position|depth|due_at|lease_until|claimed_at|attempts|version) (?:<=|<|=|>) |\+ |- |LIMIT )\?`)
	places = regexp.MustCompile(`(position (?:NOT )?IN \()[^)]*\)`)
)

// literal puts values of the right kinds for the placeholders of a text.
func literal(text string) string {
	text = strings.NewReplacer("? AS n", "5 AS n", "SELECT ? AS k", "SELECT 5 AS k").Replace(text)
	text = number.ReplaceAllString(text, "${1}5")
	text = places.ReplaceAllString(text, "${1}1, 2, 3)")
	return strings.ReplaceAll(text, "?", "'x'")
}

// filled is a store with rows in every table that a hot statement reads.
func filled(t *testing.T) opened {
	s := fresh(t, here.utf8)
	for round := range 5 {
		f, c := &store.Flush{}, &store.Flush{}
		for i := range 200 {
			e := message(fmt.Sprintf("a%d-%d", round, i))
			e.Claim = &store.Claim{Owner: "p", Token: newID(), Lease: time.Hour}
			f.Enqueues = append(f.Enqueues, e, message(e.Message.ActorID), message(e.Message.ActorID))
		}
		flushed(t, s, f)
		for i, e := range f.Enqueues {
			if e.Activation == nil {
				continue
			}
			x := finishing(e.Activation)
			x.Yield = i%2 == 0
			x.Effects = []store.Effect{{ID: newID(), Name: "charge", MaxAttempts: 2}}
			x.Reminders = []store.Reminder{{Operation: "expire", When: actors.In(time.Hour)}}
			x.Sends = []store.Send{{ID: newID(), To: store.Key{Type: "cart", ID: "target"}, Message: store.Message{Operation: "x", MaxAttempts: 1}}}
			x.Broadcast = &store.Broadcast{ID: newID(), Actor: store.Key{Type: "cart", ID: e.Message.ActorID}, Names: []string{"n"}}
			c.Commits = append(c.Commits, x)
		}
		flushed(t, s, c)
	}
	return s
}

// D31: every statement that finds rows does so by an index, and those of the hot path sort nothing. Those that lock do
// so however few rows there are: a table that is read whole is locked whole.
func TestStatementsUseIndexes(t *testing.T) {
	few := fresh(t, here.utf8)
	for i := range 3 {
		asked(t, few, fmt.Sprint("a", i))
		flushed(t, few, &store.Flush{Enqueues: []*store.Enqueue{message(fmt.Sprint("b", i))}})
	}
	explained(t, few, true)
	explained(t, filled(t), false)
}

func explained(t *testing.T, s opened, locking bool) {
	db := pool(t, here.utf8, nil)
	for name, text := range mysql.Texts(s.Store, 3) {
		verb := strings.Fields(text)[0]
		if !slices.Contains([]string{"SELECT", "UPDATE", "DELETE", "WITH"}, verb) || strings.HasPrefix(text, "SELECT VERSION") {
			continue
		}
		if locking && verb != "DELETE" && verb != "UPDATE" && !strings.Contains(text, "FOR UPDATE") {
			continue
		}
		rows, err := db.Query("EXPLAIN " + literal(text))
		if err != nil {
			t.Errorf("%s: %v\n%s", name, err, literal(text))
			continue
		}
		for rows.Next() {
			table, access, key, extra := step(t, rows)
			if access == "ALL" && !strings.HasPrefix(table, "<") && whole[name] == "" {
				t.Errorf("%s reads %s whole", name, table)
			}
			if strings.Contains(extra, "filesort") && sorted[name] == "" && !locking {
				t.Errorf("%s sorts: %s", name, extra)
			}
			if name == "scan" && table == "r" && !strings.HasSuffix(key, "ready_pick") {
				t.Errorf("scan reads %s by %q", table, key)
			}
		}
		rows.Close()
	}
}

// step reads a row of EXPLAIN, whose columns differ between the servers.
func step(t *testing.T, rows *sql.Rows) (table, access, key, extra string) {
	t.Helper()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		t.Fatal(err)
	}
	of := func(name string) string {
		if i := slices.Index(names, name); i >= 0 {
			return values[i].String
		}
		return ""
	}
	return of("table"), of("type"), of("key"), of("Extra")
}
