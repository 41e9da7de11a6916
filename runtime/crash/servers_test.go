//go:build unix

package crash

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

func postgresDatabase(t *testing.T, _ string) string {
	dsn := cmp.Or(os.Getenv("LOCKSTEP_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/postgres")
	cfg, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	name := storetest.Empty(t, "pgx", dsn, "crash")
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace
	return fmt.Sprintf("host='%s' port=%d user='%s' password='%s' dbname=%s", quote(cfg.Host), cfg.Port, quote(cfg.User), quote(cfg.Password), name)
}

func openPostgres(ctx context.Context, dsn string) (store.Store, error) {
	return postgres.Open(ctx, dsn)
}

func enterPostgres() actors.CommitExecutor {
	return postgres.Action(enter, func(ctx context.Context, tx pgx.Tx, c actors.Committing[call]) error {
		_, err := tx.Exec(ctx, "INSERT INTO ledger (notary, place, call_name) VALUES ($1, $2, $3)", c.ActorID, c.Sequence, c.In.Call)
		reached(inAction)
		return err
	})
}

func rawPostgres(dsn string) (*sql.DB, error) { return sql.Open("pgx", dsn) }

func mysqlDatabase(t *testing.T, _ string) string {
	cfg, err := driver.ParseDSN(cmp.Or(os.Getenv("LOCKSTEP_TEST_MYSQL"), "root@tcp(127.0.0.1:3306)/"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.DBName = ""
	cfg.DBName = storetest.Empty(t, "mysql", cfg.FormatDSN(), "crash")
	return cfg.FormatDSN()
}

func openMySQL(ctx context.Context, dsn string) (store.Store, error) { return mysql.Open(ctx, dsn) }

func enterMySQL() actors.CommitExecutor {
	return mysql.Action(enter, func(ctx context.Context, tx *sql.Tx, c actors.Committing[call]) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO ledger (notary, place, call_name) VALUES (?, ?, ?)", c.ActorID, c.Sequence, c.In.Call)
		reached(inAction)
		return err
	})
}

func rawMySQL(dsn string) (*sql.DB, error) { return sql.Open("mysql", dsn) }
