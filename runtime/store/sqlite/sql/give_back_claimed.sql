-- G7, G16: as give_back, for the claimed head.
UPDATE lockstep_instances SET owner = NULL, token = NULL, lease_until = 0, last_used_at = ?
WHERE id = ? AND owner = ? AND token = ? AND generation = ? AND lease_until > ? AND head_sequence = ?
	AND EXISTS (SELECT 1 FROM lockstep_claimed c WHERE c.instance_id = lockstep_instances.id AND c.message_id = ?)
RETURNING actor_type, paused_at
