package fleet

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// fleets are what several processes may be wired to.
var fleets = []struct {
	name string
	wiring
}{
	{"sqlite", wiring{Database: "sqlite"}},
	{"postgres", wiring{Database: "postgres"}},
	{"postgres, hints dropped", wiring{Database: "postgres", Hints: "dropped"}},
	{"postgres, hints shuffled", wiring{Database: "postgres", Hints: "shuffled"}},
	{"mysql and nats", wiring{Database: "mysql", Bus: "nats"}},
	{"mysql and nats, hints dropped", wiring{Database: "mysql", Bus: "nats", Hints: "dropped"}},
	{"mysql and nats, hints shuffled", wiring{Database: "mysql", Bus: "nats", Hints: "shuffled"}},
	{"mysql and redis", wiring{Database: "mysql", Bus: "redis"}},
	{"mysql alone", wiring{Database: "mysql"}},
}

// onEach runs a test on a fleet of each kind, whose database is empty.
func onEach(t *testing.T, test func(t *testing.T, w wiring)) {
	for _, f := range fleets {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel() // it waits, mostly
			test(t, f.fresh(t))
		})
	}
}

// fresh gives a fleet a database of its own and a channel of its own.
func (w wiring) fresh(t *testing.T) wiring {
	t.Helper()
	w.Channel = storetest.Database("fleet")
	switch w.Database {
	case "sqlite":
		w.Address = filepath.Join(t.TempDir(), "fleet.db")
	case "postgres":
		dsn := cmp.Or(os.Getenv("LOCKSTEP_TEST_POSTGRES"), "postgres://postgres@127.0.0.1:5432/postgres")
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			t.Fatal(err)
		}
		name := storetest.Empty(t, "pgx", dsn, "fleet")
		quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace
		w.Address = fmt.Sprintf("host='%s' port=%d user='%s' password='%s' dbname=%s", quote(cfg.Host), cfg.Port, quote(cfg.User), quote(cfg.Password), name)
	default:
		cfg, err := driver.ParseDSN(cmp.Or(os.Getenv("LOCKSTEP_TEST_MYSQL"), "root@tcp(127.0.0.1:3306)/"))
		if err != nil {
			t.Fatal(err)
		}
		cfg.DBName = ""
		cfg.DBName = storetest.Empty(t, "mysql", cfg.FormatDSN(), "fleet")
		w.Address = cfg.FormatDSN()
	}
	return w
}
