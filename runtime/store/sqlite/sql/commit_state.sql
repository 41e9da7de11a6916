-- G7, G12: state and revision, where the whole fence matches, the lease has not expired and the message is the claimed head.
UPDATE lockstep_instances
SET head_sequence = head_sequence + 1, revision = ?, message_id = ?, last_used_at = ?, state_version = ?, state = ?
WHERE id = ? AND owner = ? AND token = ? AND generation = ? AND lease_until > ? AND head_sequence = ?
	AND EXISTS (SELECT 1 FROM lockstep_claimed c WHERE c.instance_id = lockstep_instances.id AND c.message_id = ?)
