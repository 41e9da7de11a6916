-- G4: one row for each mailbox whose head waits.
INSERT INTO lockstep.lockstep_ready (instance_id, sequence, message_id, actor_type, due_at)
SELECT v.instance_id, v.sequence, v.message_id, v.actor_type, v.due_at
FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[]) AS v (instance_id, sequence, message_id, actor_type, due_at)
ON CONFLICT (instance_id) DO UPDATE SET
	sequence = excluded.sequence, message_id = excluded.message_id, due_at = excluded.due_at
