-- G5, G7, G15: the next sequence may run and nothing else changes.
UPDATE lockstep_instances
SET head_sequence = head_sequence + 1, last_used_at = ?
WHERE id = ? AND owner = ? AND token = ? AND generation = ? AND lease_until > ? AND head_sequence = ?
	AND EXISTS (SELECT 1 FROM lockstep_claimed c WHERE c.instance_id = lockstep_instances.id AND c.message_id = ?)
