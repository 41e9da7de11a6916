-- Design 4: where rows must be waited for, they are taken in the order of the primary key.
SELECT i.id, i.actor_type, i.actor_id, i.head_sequence, i.next_sequence, i.tail, i.owner, i.token, i.generation,
	i.lease_until,
	i.claimed_id, i.paused_at, i.revision, i.message_id, i.broadcast_previous, i.broadcast_revision,
	i.broadcast_message_id,
	i.last_used_at, i.state_version
FROM lockstep_instances i FORCE INDEX (PRIMARY) WHERE i.id IN (/*each*/?/*end*/)
ORDER BY i.id
FOR UPDATE
