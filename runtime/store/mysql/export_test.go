package mysql

import (
	"database/sql"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/actors"
)

// InstallLease shortens how long a dead installer holds up others, and AfterStep is called between the steps of an
// installation. Both return what puts the old value back.
func InstallLease(d time.Duration) (restore func()) {
	before := installLease
	installLease = d
	return func() { installLease = before }
}

// AfterStep see InstallLease.
func AfterStep(f func() error) (restore func()) {
	before := afterStep
	afterStep = f
	return func() { afterStep = before }
}

// Texts are the statements of a store by the names of their files, each with n of what it repeats.
func Texts(s *Store, n int) map[string]string {
	names, _ := files.ReadDir("sql")
	texts := map[string]string{}
	for _, name := range names {
		text, _ := files.ReadFile("sql/" + name.Name())
		_, body, _ := strings.Cut(string(text), "\n")
		var counts []int
		for range strings.Count(body, "/*end*/") {
			counts = append(counts, n)
		}
		texts[strings.TrimSuffix(name.Name(), ".sql")] = prefixed(expand(strings.TrimSpace(body), counts...), s.cfg.Prefix)
	}
	return texts
}

// Unwrap is the transaction that an action is given.
func Unwrap(tx actors.Tx) *sql.Tx { return tx.(transaction).tx }
