-- G7, G12, G27: as commit_state, and the actor's last broadcast becomes the previous one.
UPDATE lockstep_instances
SET head_sequence = head_sequence + 1, revision = ?, message_id = ?, last_used_at = ?, state_version = ?, state = ?,
	broadcast_previous = broadcast_revision, broadcast_revision = ?, broadcast_message_id = ?
WHERE id = ? AND owner = ? AND token = ? AND generation = ? AND lease_until > ? AND head_sequence = ?
	AND EXISTS (SELECT 1 FROM lockstep_claimed c WHERE c.instance_id = lockstep_instances.id AND c.message_id = ?)
RETURNING broadcast_previous
