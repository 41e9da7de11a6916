-- G4, G6: one message of an actor at a time.
INSERT INTO lockstep.lockstep_claimed (instance_id, sequence, message_id, claimed_at)
SELECT v.instance_id, v.sequence, v.message_id, $4::bigint
FROM unnest($1::text[], $2::bigint[], $3::text[]) AS v (instance_id, sequence, message_id)
ON CONFLICT (instance_id) DO UPDATE SET
	sequence = excluded.sequence, message_id = excluded.message_id, claimed_at = excluded.claimed_at
