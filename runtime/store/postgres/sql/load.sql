-- G7, D09: what is compared with a fence is read by a later statement than the one that took the locks.
SELECT i.id, i.actor_type, i.actor_id, i.head_sequence, i.next_sequence, coalesce(i.owner, ''), coalesce(i.token, ''),
	i.generation, i.lease_until, coalesce(i.paused_at, 0), i.revision, i.message_id, i.broadcast_previous,
	i.broadcast_revision, i.broadcast_message_id, i.state_version,
	c.message_id, r.due_at
FROM lockstep.lockstep_instances i
	LEFT JOIN lockstep.lockstep_claimed c ON c.instance_id = i.id
	LEFT JOIN lockstep.lockstep_ready r ON r.instance_id = i.id
WHERE i.id = ANY ($1::text[] || ARRAY(
	SELECT j.id FROM unnest($2::text[], $3::text[]) AS k (actor_type, actor_id)
		CROSS JOIN LATERAL (SELECT o.id FROM lockstep.lockstep_instances o
			WHERE o.actor_type = k.actor_type AND o.actor_id = k.actor_id OFFSET 0) j))
