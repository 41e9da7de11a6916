package runtime_test

import (
	"context"
	"hash/fnv"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-go/lockstep/actors"
	"github.com/lockstep-go/lockstep/runtime/store"
)

// A test of this package runs once on each database, as a subtest of its name: TestG5StrictOrder/sqlite, /postgres and
// /mysql. Its text is the same on all of them.

// database is one that the tests run on.
type database struct {
	name string
	// open opens the database of that number n times, as so many processes would. Each test finds it empty. What a power
	// cut would take away is none of most tests' business; durable says that it is of this one's.
	open func(t testing.TB, number, n int, durable bool) []store.Store
	// weakness is in what a doctor says of one that is not durable; empty where it is.
	weakness string
	// handsOut says that the store itself begins transactions, for inTransaction, and knows that a call is made inside.
	handsOut bool
	// locks says that a process's death shows at once, by its lock.
	locks bool
	// begin runs f in a transaction of the store, or else of an application's.
	begin func(ctx context.Context, db store.Store, f func(ctx context.Context, tx hosted) error) error
	// writeLimit is how long commit actions may take.
	writeLimit time.Duration
	// statements are the most that a warm call may cost.
	statements int64
	// missing is why there is no server, clean empties the databases up to number n, and drop is for the end of all tests.
	missing func() error
	clean   func(n int) error
	drop    func()

	// Of the test that runs:
	opened int           // databases
	bubble bool          // its clock is not the real one
	clocks []*movedClock // of a server, in a bubble
}

var databases []*database

// The databases' own functions ask which one a test runs on, so this cannot be said where the variable is declared.
func init() { databases = []*database{inSQLite, inPostgres, inMySQL} }

// here is the database of a test: its name ends with it. One that says nothing of databases is on SQLite.
func here(t testing.TB) *database {
	t.Helper()
	name := t.Name()[strings.LastIndex(t.Name(), "/")+1:]
	for _, d := range databases {
		if d.name == name {
			return d
		}
	}
	return inSQLite
}

// scale is how much of n a test does that only needs much: half of it on a server.
func (d *database) scale(n int) int {
	if d == inSQLite {
		return n
	}
	return n / 2
}

// onEach runs a test on each database, on the real clock. On the servers it is every third of the tests, unless
// LOCKSTEP_TEST_FULL is 1: which third depends on the test's name, and differs between them.
func onEach(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	for i, d := range databases {
		t.Run(d.name, func(t *testing.T) {
			if !sampled(t.Name(), i) {
				t.Skip("not in the sample of tests that run on a server; LOCKSTEP_TEST_FULL=1 runs them all")
			}
			on(t, d, test)
		})
	}
}

// onlyOn is onEach for a test of what the other databases do not have.
func onlyOn(t *testing.T, d *database, test func(t *testing.T)) {
	t.Helper()
	t.Run(d.name, func(t *testing.T) { on(t, d, test) })
}

func on(t *testing.T, d *database, test func(t *testing.T)) {
	t.Helper()
	if err := d.missing(); err != nil {
		if os.Getenv("LOCKSTEP_TEST_REQUIRE_"+strings.ToUpper(d.name)) == "1" {
			t.Fatalf("%s is required: %v", d.name, err)
		}
		t.Skipf("no server, see LOCKSTEP_TEST_%s: %v", strings.ToUpper(d.name), err)
	}
	defer func() {
		if err := d.clean(d.opened); err != nil {
			t.Errorf("empty the databases for the next test: %v", err)
		}
		d.opened, d.clocks = 0, nil
	}()
	test(t)
}

// sampleOf is how many tests there are for one that runs on each server.
const sampleOf = 3

func sampled(name string, database int) bool {
	if database == 0 || os.Getenv("LOCKSTEP_TEST_FULL") == "1" {
		return true
	}
	h := fnv.New32a()
	h.Write([]byte(name[:strings.LastIndex(name, "/")]))
	return (int(h.Sum32()>>8)+database)%sampleOf == 0
}

// openStore opens a fresh database.
func openStore(t testing.TB) store.Store { return openFresh(t, 1, false)[0] }

// openShared opens one fresh database several times, as so many processes would.
func openShared(t testing.TB, n int) []store.Store { return openFresh(t, n, true) }

func openFresh(t testing.TB, n int, durable bool) []store.Store {
	t.Helper()
	d := here(t)
	d.opened++
	stores := d.open(t, d.opened, n, durable)
	for _, db := range stores {
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Errorf("close database: %v", err)
			}
		})
	}
	return stores
}

// inTransaction runs f in a transaction, which commits where f returns nil.
func inTransaction(t *testing.T, db store.Store, f func(ctx context.Context, tx actors.Tx) error) error {
	t.Helper()
	return here(t).begin(t.Context(), db, func(ctx context.Context, tx hosted) error { return f(ctx, tx.Tx()) })
}

// inTime runs a test on each database and on a clock of its own, where pass takes no time: while a server is asked
// something that clock stands still, and the server's is moved along with it. The test ends only when every goroutine
// that it started has ended, so each such test looks for leaks too.
func inTime(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	onEach(t, bubble(test))
}

// inTimeOn is inTime for a test of what only one database has.
func inTimeOn(t *testing.T, d *database, test func(t *testing.T)) {
	t.Helper()
	onlyOn(t, d, bubble(test))
}

// slack is what a server's own time may have added to what a test has measured in a bubble: what verbs took since the
// last pass, by which its clock is ahead, and the poll that finds what was not due by it when an alarm rang. It is zero
// where the database's clock is the bubble's.
func slack(t testing.TB) (most time.Duration) {
	t.Helper()
	for _, c := range here(t).clocks {
		most = max(most, c.most()+2*time.Second)
	}
	return most
}

// bubble has a test run on a clock of its own.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) {
		d := here(t)
		d.bubble = true
		defer func() { d.bubble = false }()
		synctest.Test(t, test)
	}
}

// pass lets time pass, and whatever is due in it happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// settle lets whatever is under way come to rest, without letting time pass.
func settle() { synctest.Wait() }
