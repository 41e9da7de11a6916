-- G1, G6: the next sequence and the free lease are taken together.
UPDATE lockstep_instances SET
	next_sequence = next_sequence + 1, tail = ?, owner = ?, token = ?, lease_until = ?, generation = generation + 1,
	last_used_at = ?
WHERE id = ?
RETURNING token, generation, lease_until, id, revision, message_id, broadcast_revision, state_version, state
