package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/lockstep-go/lockstep/runtime/store/storetest"
)

// Design 4: what each verb costs, with one item and with 200. There are no round trips: a statement is a call.
const costs = `
                               1: stmts commits           200: stmts commits
flush: enqueue, new actors            7       1                 1002       1
flush: commit                         6       1                  802       1
flush: enqueue, warm actors           6       1                  802       1
flush: enqueue behind                 6       1                  802       1
flush: commit, claim next             9       1                 1402       1
flush: commit and enqueue            10       1                 1602       1
flush: enqueue with a key             7       1                 1002       1
flush: failure                        6       1                  802       1
flush: last failure                   7       1                 1002       1
flush: renew                          3       1                  202       1
flush: release                        8       1                 1202       1
flush: scan                           9       1                 1004       1
flush: commit, everything            10       1                 1602       1
flush: broadcast handed on            3       1                  202       1
deliver sends                        10       1                 1204       1
fire reminders                        9       1                 1004       1
claim effects                         5       1                  204       1
renew effects                         3       1                  202       1
finish effects                        8       1                 1202       1
take broadcasts                       5       1                  204       1
snapshot                              1       0                    1       0
stamps                                1       0                  200       0
message                               1       0                    1       0
alarms                                1       0                    1       0
changes                               1       0                    1       0
due                                   1       0                    1       0
now                                   0       0                    0       0
processes                             1       0                    1       0
revocations                           1       0                    1       0
dead letters                          1       0                    1       0
retry                                 8       1                    8       1
pause                                 4       1                    4       1
revoke                                4       1                    4       1
register                              3       1                    3       1
beat                                  3       1                    3       1
recover, leases over                 16       1                 2006       1
leave                                12       1                 1206       1
destroy                              11       1                   11       1
sweep                                13       1                   13       1
`

func TestCosts(t *testing.T) {
	got := storetest.Costs(t, openFile(t, filepath.Join(t.TempDir(), "store.db")), nil)
	if got != costs[1:] {
		t.Errorf("verbs cost\n%s\nwant\n%s", got, costs[1:])
	}
}
