// Package crash is the proof under fire: several processes work on one database while they are killed, stopped and
// continued, at random and at every named point of the transaction map; then a checker compares what the database
// holds with what callers were told. It has tests only:
//
//	go test ./runtime/crash -run TestCrash -v    # ten seconds on each database that there is
//	make crash                                   # every point in turn, and then two minutes, on each
//	make crash CRASH_ON=postgres CRASH=3h        # a night on one
//	LOCKSTEP_CRASH_SEED=7 make crash             # again what round 7 did
//
// A round is a fresh database and a seed, which is printed: what happens to which process and when follows from it,
// though not how the processes' own work falls in between. With -artifacts the database and the histories are kept.
//
// Beside that, one process and the wire to its server: connections that are cut during a COMMIT, servers that are silent,
// pools that callers and handlers use up.
package crash
