package postgres_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lockstep-go/lockstep/runtime/benchtest"
)

const (
	bareTables = `
CREATE TABLE instances (id text COLLATE "C" PRIMARY KEY, state text, revision bigint, next bigint, owner text, token text, generation bigint, lease bigint) WITH (fillfactor = 70);
CREATE TABLE messages (id text COLLATE "C" PRIMARY KEY, instance text COLLATE "C", sequence bigint, operation text, arguments text, result text, enqueued bigint, finished bigint, UNIQUE (instance, sequence));
CREATE TABLE claimed (instance text COLLATE "C" PRIMARY KEY, message text)`
	bareTake = `UPDATE instances i SET next = next + 1 FROM unnest($1::text[]) v (id)
WHERE i.id = v.id AND owner = 'me' AND token = 'token' AND generation = 1 AND lease > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	bareMessage = `INSERT INTO messages SELECT id, instance, sequence, 'bump', '1', NULL, 1, NULL FROM unnest($1::text[], $2::text[], $3::bigint[]) v (id, instance, sequence)`
	bareClaim   = `INSERT INTO claimed SELECT instance, message FROM unnest($1::text[], $2::text[]) v (instance, message)`
	bareState   = `UPDATE instances i SET state = v.state, revision = revision + 1 FROM unnest($1::text[], $2::text[]) v (id, state)
WHERE i.id = v.id AND owner = 'me' AND token = 'token' AND generation = 1 AND lease > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`
	bareResult = `UPDATE messages SET result = '1', finished = 1 WHERE id = ANY ($1::text[])`
	bareDone   = `DELETE FROM claimed WHERE instance = ANY ($1::text[])`
)

// bare does only the statements of a warm call: those of all steps in one transaction and one round trip.
func bare(b *testing.B, actors int) func([]benchtest.Step) error {
	b.Helper()
	conn, err := pgx.Connect(b.Context(), dsn(b, "sslmode=disable"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(b.Context()) })
	schema := newSchema()
	for _, text := range []string{"CREATE SCHEMA " + schema, "SET search_path = " + schema, bareTables,
		fmt.Sprintf(`INSERT INTO instances SELECT '01890000-0000-7000-8000-' || lpad(n::text, 12, '0'), '{"n":0}', 0, 1, 'me', 'token', 1, 9000000000000000 FROM generate_series(0, %d) n`, actors-1),
		"ANALYZE"} {
		if _, err := conn.Exec(b.Context(), text); err != nil {
			b.Fatal(err)
		}
	}
	return func(steps []benchtest.Step) error {
		var in, out struct {
			instances, messages, states []string
			sequences                   []int64
		}
		for _, s := range steps {
			side := &in
			if s.Turn {
				side = &out
			}
			side.instances = append(side.instances, fmt.Sprintf("01890000-0000-7000-8000-%012d", s.Actor))
			side.messages = append(side.messages, fmt.Sprintf("01890001-%012d-%d", s.Actor, s.Sequence))
			side.states, side.sequences = append(side.states, fmt.Sprintf(`{"n":%d}`, s.Sequence)), append(side.sequences, s.Sequence)
		}
		batch := &pgx.Batch{}
		batch.Queue("BEGIN")
		if len(out.instances) > 0 {
			batch.Queue(bareState, out.instances, out.states)
			batch.Queue(bareResult, out.messages)
			batch.Queue(bareDone, out.instances)
		}
		if len(in.instances) > 0 {
			batch.Queue(bareTake, in.instances)
			batch.Queue(bareMessage, in.messages, in.instances, in.sequences)
			batch.Queue(bareClaim, in.instances, in.messages)
		}
		batch.Queue("COMMIT")
		return conn.SendBatch(b.Context(), batch).Close()
	}
}
