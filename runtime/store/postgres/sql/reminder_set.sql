-- G25: a reminder has a name and a key; setting it again moves it.
INSERT INTO lockstep.lockstep_reminders (id, instance_id, operation, key, arguments, interval, catch_up, next_at, due_at)
SELECT v.id, v.instance_id, v.operation, v.key, v.arguments, v.every, v.catch_up, v.next_at, v.next_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::bigint[])
	AS v (id, instance_id, operation, key, arguments, every, catch_up, next_at)
ON CONFLICT (instance_id, operation, key) DO UPDATE SET
	arguments = excluded.arguments, interval = excluded.interval, catch_up = excluded.catch_up,
	next_at = excluded.next_at, due_at = excluded.due_at
