-- G1, G6, G7: what a transaction decided about the instances that it holds.
INSERT INTO lockstep_instances (id, actor_type, actor_id, head_sequence, next_sequence, tail, owner, token,
	generation, lease_until, claimed_id, paused_at,
	revision, message_id, broadcast_previous, broadcast_revision, broadcast_message_id, created_at, last_used_at,
	state_version)
VALUES /*each*/(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)/*end*/
ON DUPLICATE KEY UPDATE
	head_sequence = VALUES(head_sequence), next_sequence = VALUES(next_sequence), tail = VALUES(tail),
	owner = VALUES(owner), token = VALUES(token), generation = VALUES(generation),
	lease_until = VALUES(lease_until), claimed_id = VALUES(claimed_id), paused_at = VALUES(paused_at),
	revision = VALUES(revision), message_id = VALUES(message_id), broadcast_previous = VALUES(broadcast_previous),
	broadcast_revision = VALUES(broadcast_revision), broadcast_message_id = VALUES(broadcast_message_id),
	last_used_at = VALUES(last_used_at),
	state_version = VALUES(state_version)
