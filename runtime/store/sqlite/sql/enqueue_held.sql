-- G1, G6: a message can join an activation that its owner still holds, where nothing is queued before it.
SELECT next_sequence, tail FROM lockstep_instances
WHERE id = ? AND owner = ? AND token = ? AND generation = ? AND lease_until > ?
	AND head_sequence = next_sequence AND paused_at IS NULL AND actor_id = ? AND actor_type = ?
