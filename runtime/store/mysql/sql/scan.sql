-- G4, G5, G6, D31: heads that are due and that nobody else holds, longest wait first, read and locked in the index's order.
SELECT i.id, i.actor_type, i.actor_id, i.head_sequence, i.next_sequence, i.tail, i.owner, i.token, i.generation,
	i.lease_until,
	i.claimed_id, i.paused_at, i.revision, i.message_id, i.broadcast_previous, i.broadcast_revision,
	i.broadcast_message_id,
	i.last_used_at, i.state_version, r.message_id
FROM lockstep_ready r FORCE INDEX (lockstep_ready_pick) STRAIGHT_JOIN lockstep_instances i ON i.id = r.instance_id
WHERE r.queue = '' AND r.priority = 0 AND r.due_at <= ? AND r.actor_type IN (/*each*/?/*end*/)
	AND r.instance_id NOT IN (/*each*/?/*end*/)
	AND (i.owner IS NULL OR i.lease_until <= ? OR i.owner = ?)
ORDER BY r.due_at
LIMIT ?
FOR UPDATE SKIP LOCKED
