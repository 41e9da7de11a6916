package sqlite_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/sqlite"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

func fuzzed(f *testing.F) store.Store {
	s, err := sqlite.Open(f.Context(), ":memory:")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close() })
	return s
}

func FuzzDocuments(f *testing.F) { storetest.FuzzDocuments(f, fuzzed(f)) }

func FuzzKeys(f *testing.F) { storetest.FuzzKeys(f, fuzzed(f)) }

// FuzzOpen: options that are not ours are a typed error that repeats none of them.
func FuzzOpen(f *testing.F) {
	for _, options := range []string{"", "?", "?prefix=shop_", "?prefix=", "?prefix=a&prefix=b", "?synchronous=full", "?synchronous=unsafe_normal",
		"?synchronous=off", "?_auth_pass=" + secret, "?prefix=" + secret + "%zz", "?" + secret, "?%", "?a=1;b=2", "?prefix=%00", "?=&=&", "?prefix=sqlite_"} {
		f.Add(options)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, options string) {
		if _, after, found := strings.Cut(options, "?"); !found {
			options = "?" + options
		} else {
			options = "?" + after
		}
		s, err := sqlite.Open(t.Context(), "sqlite:"+filepath.Join(dir, "fuzz.db")+options)
		if err == nil {
			s.Close()
			return
		}
		if bad, ok := errors.AsType[*store.InvalidDSN](err); ok && (bad.Dialect != "sqlite" || strings.Contains(err.Error(), secret)) {
			t.Errorf("%q: %v", options, err)
		}
	})
}

// secret is a password that no error may repeat.
const secret = "hunter2swordfish"
