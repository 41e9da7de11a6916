package mysql_test

import (
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-go/lockstep/runtime/store"
	"github.com/lockstep-go/lockstep/runtime/store/mysql"
	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// D30: the suite on an application's pool whose sessions are at the server's default level, with
// innodb_snapshot_isolation where the server has it: the store chooses its own level, or no lost update and no error
// 1020 would stay away. A third of the suite, all of it where LOCKSTEP_TEST_FULL is 1.
func TestD30StoreUnderSnapshotIsolation(t *testing.T) {
	need(t)
	params := map[string]string{}
	if hasSnapshotIsolation(t) {
		params["innodb_snapshot_isolation"] = "1"
	}
	if strings.Contains(ask(t, here.root, "SELECT VERSION()"), "MariaDB") {
		params["tx_isolation"] = "'REPEATABLE-READ'"
	} else {
		params["transaction_isolation"] = "'REPEATABLE-READ'"
	}
	storetest.Run(t, func(t *testing.T) store.Store {
		sample(t, "/G12/", "/G2/", "/G29/", "/D06/parallel")
		cfg := mysql.Config{Prefix: emptied(t, here.utf8)} // first, so that the pool is closed before they are emptied
		return borrow(t, pool(t, here.utf8, params), cfg)
	})
}

// sample skips all but every third test of the suite and those whose names have one of the words, unless
// LOCKSTEP_TEST_FULL is 1.
func sample(t *testing.T, always ...string) {
	t.Helper()
	h := fnv.New32a()
	h.Write([]byte(t.Name()))
	in := func(word string) bool { return strings.Contains(t.Name(), word) }
	if os.Getenv("LOCKSTEP_TEST_FULL") != "1" && !slices.ContainsFunc(always, in) && h.Sum32()%3 != 0 {
		t.SkipNow()
	}
}
