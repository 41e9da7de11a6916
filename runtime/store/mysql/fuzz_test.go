package mysql_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

func FuzzDocuments(f *testing.F) {
	need(f)
	storetest.FuzzDocuments(f, fresh(f, here.utf8))
}

func FuzzKeys(f *testing.F) {
	need(f)
	storetest.FuzzKeys(f, fresh(f, here.utf8))
}

// secret is a password that no error may repeat.
const secret = "hunter2swordfish"

// FuzzOpen: a DSN that is mistyped before or after its password is a typed error that does not repeat the password, nor
// does what follows from one that the driver reads.
func FuzzOpen(f *testing.F) {
	for _, around := range [][2]string{
		{"user:", "@tcp(127.0.0.1:1)/db"}, {"user:", "@tcp(127.0.0.1:1)/"}, {"user:", "@tcp(127.0.0.1:1)"}, {"user:", "@tcp(127.0.0.1:1/db"},
		{"user:", "@odd(h)/db"}, {"user:", "@/db?parseTime=odd"}, {"user:", "@/db?timeout=odd"}, {"user:", "@/db?tls=odd"}, {"user:", "@/db?a=%zz"},
		{"user:", "/x@tcp(h)/db"}, {"user:", "@tcp(h)/db?loc=%2"}, {"user:", "@tcp(h)/db?parseTime="}, {"mysql://user:", "@h:1/db"}, {"", ""}, {"@", "/"},
		{"user:p@", "@tcp(127.0.0.1:1)/d%zz"}, {"user:", "@tcp(127.0.0.1:1)/db?collation=odd"}, {"user:", "@/db?maxAllowedPacket=x"}, {"user:", "@/db?serverPubKey=odd"},
		{"user:", "@unix(/nowhere)/db"}, {"\x00:", "@/\xff"}, {"user:pass@tcp(h)/db?connectionAttributes=", ""},
	} {
		f.Add(around[0], around[1])
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel() // nothing is connected to
	f.Fuzz(func(t *testing.T, before, after string) {
		dsn := before + secret + after
		s, err := mysql.Open(ended, dsn)
		if err == nil {
			s.Close()
			t.Fatalf("%q was opened under a ctx that had ended", dsn)
		}
		cfg, unreadable := driver.ParseDSN(dsn)
		if unreadable != nil {
			if bad, ok := errors.AsType[*store.InvalidDSN](err); !ok || bad.Dialect != "mysql" || strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v", dsn, err)
			}
			return
		}
		if strings.Contains(err.Error(), secret) && !strings.Contains(cfg.User+cfg.Addr+cfg.DBName+cfg.Net, secret) {
			t.Errorf("%q: %v", dsn, err)
		}
	})
}
