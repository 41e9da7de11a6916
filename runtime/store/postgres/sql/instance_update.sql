-- G6, G7, G12: what was compared under the lock is written under it.
UPDATE lockstep.lockstep_instances i SET
	head_sequence = v.head_sequence, next_sequence = v.next_sequence, owner = v.owner, token = v.token,
	generation = v.generation, lease_until = v.lease_until, paused_at = v.paused_at, revision = v.revision,
	message_id = v.message_id, broadcast_previous = v.broadcast_previous, broadcast_revision = v.broadcast_revision,
	broadcast_message_id = v.broadcast_message_id, state_version = v.state_version,
	state = CASE WHEN v.stated THEN v.state ELSE i.state END, last_used_at = $18::bigint
FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[],
		$9::bigint[], $10::text[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[], $15::boolean[], $16::text[], $17::boolean[])
	AS v (id, head_sequence, next_sequence, owner, token, generation, lease_until, paused_at, revision, message_id,
		broadcast_previous, broadcast_revision, broadcast_message_id, state_version, stated, state, wanted)
WHERE i.id = v.id
RETURNING i.id, CASE WHEN v.wanted THEN i.state END
