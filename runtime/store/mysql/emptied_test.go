package mysql_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
)

// Making a store's tables takes a server longer than most tests of the suite, so these share them, one after the other.

var idle struct {
	sync.Mutex
	prefixes map[string][]string // of installed tables that are empty, by database
}

// emptied is the prefix of tables that the test finds empty or not yet made. Only a test that passed leaves its own to
// the next.
func emptied(t testing.TB, c *driver.Config) string {
	t.Helper()
	need(t)
	idle.Lock()
	defer idle.Unlock()
	p := ""
	if list := idle.prefixes[c.DBName]; len(list) > 0 {
		p, idle.prefixes[c.DBName] = list[len(list)-1], list[:len(list)-1]
	} else {
		p = prefix()
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // the database is dropped in the end
		}
		if err := empty(c.DBName, p); err != nil {
			t.Errorf("empty the tables of %s: %v", p, err)
			return
		}
		idle.Lock()
		defer idle.Unlock()
		if idle.prefixes == nil {
			idle.prefixes = map[string][]string{}
		}
		idle.prefixes[c.DBName] = append(idle.prefixes[c.DBName], p)
	})
	return p
}

// empty deletes every row under a prefix but what the schema keeps of itself, and the application's tables.
func empty(database, prefix string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tx, err := here.root.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	names, err := tables(tx, database, prefix)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch {
		case strings.HasSuffix(name, "schema_migrations"):
		case strings.HasSuffix(name, "ledger"):
			_, err = here.root.ExecContext(ctx, "DROP TABLE "+database+"."+name)
		default:
			_, err = tx.ExecContext(ctx, "DELETE FROM "+database+"."+name)
		}
		if err != nil {
			return err
		}
	}
	return tx.Commit()
}

func tables(tx *sql.Tx, database, prefix string) (names []string, err error) {
	rows, err := tx.Query("SELECT table_name FROM information_schema.tables WHERE table_schema = ?", database)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, rows.Err()
}
