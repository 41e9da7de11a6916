package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/postgres"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

func FuzzDocuments(f *testing.F) { storetest.FuzzDocuments(f, openNew(f, lax)) }

func FuzzKeys(f *testing.F) { storetest.FuzzKeys(f, openNew(f, lax)) }

// secret is a password that no error may repeat.
const secret = "hunter2swordfish"

// FuzzOpen: a DSN that is mistyped before or after its password is a typed error that does not repeat the password, nor
// does what follows from one that pgx reads.
func FuzzOpen(f *testing.F) {
	for _, around := range [][2]string{
		{"postgres://user:", "@127.0.0.1:1/db"}, {"postgres://user:", "#@127.0.0.1:1/db"}, {"postgres://user:%zz", "@h/db"}, {"postgres://user:", "/@h/db"},
		{"postgres://user:", "@127.0.0.1:port/db"}, {"postgres://user:", "@h/db?sslmode=odd"}, {"postgres://user:", "@h:1:2/db"}, {"postgres://[::", "]:1/db"},
		{"host=127.0.0.1 port=1 user=u password=", " dbname=d"}, {"host=127.0.0.1 port=1 password='", ""}, {"host=127.0.0.1 password=", " port=x"},
		{"password=", " pool_max_conns=many host=127.0.0.1"}, {"user=u password = ", " sslrootcert=/nowhere/at/all sslmode=verify-full"},
		{"password=", " default_query_exec_mode=odd"}, {"", ""}, {"postgres://", ""}, {"\x00password=", "\xff"}, {"password=a\\", "'"},
		{"postgres://user@h/db?password=", "&pool_min_conns=-1"}, {"password=", " connect_timeout=soon"}, {"password=", " target_session_attrs=odd"},
	} {
		f.Add(around[0], around[1])
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // nothing is connected to
	f.Fuzz(func(t *testing.T, before, after string) {
		dsn := before + secret + after
		s, err := postgres.Open(ended, dsn)
		if err == nil {
			s.Close()
			t.Fatalf("%q was opened under a ctx that had ended", dsn)
		}
		cfg, unreadable := pgxpool.ParseConfig(dsn)
		if unreadable != nil {
			if bad, ok := errors.AsType[*store.InvalidDSN](err); !ok || bad.Dialect != "postgres" || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v", dsn, err)
			}
			return
		}
		c := cfg.ConnConfig
		var elsewhere strings.Builder
		elsewhere.WriteString(c.Host + c.User + c.Database)
		for _, fallback := range c.Fallbacks {
			elsewhere.WriteString(fallback.Host)
		}
		if strings.Contains(err.Error(), secret) && !strings.Contains(elsewhere.String(), secret) {
			t.Errorf("%q: %v", dsn, err)
		}
	})
}
