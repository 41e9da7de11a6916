-- G34: actors of a type in the order of their ids, and what each still has.
SELECT i.id, i.actor_type, i.actor_id, i.created_at, i.last_used_at, i.revision, i.state_version,
	i.next_sequence - i.head_sequence,
	CASE WHEN i.owner IS NULL THEN 0 ELSE i.lease_until - TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) END,
	i.paused_at,
	EXISTS (SELECT 1 FROM lockstep_reminders r WHERE r.instance_id = i.id),
	EXISTS (SELECT 1 FROM lockstep_effects e FORCE INDEX (lockstep_effects_instance)
			WHERE e.instance_id = i.id AND e.state = 'pending')
		OR EXISTS (SELECT 1 FROM lockstep_sends s FORCE INDEX (lockstep_sends_pair) WHERE s.instance_id = i.id)
		OR EXISTS (SELECT 1 FROM lockstep_broadcasts b FORCE INDEX (PRIMARY) WHERE b.instance_id = i.id),
	EXISTS (SELECT 1 FROM lockstep_dead_letters d FORCE INDEX (lockstep_dead_letters_instance)
		WHERE d.instance_id = i.id)
FROM lockstep_instances i FORCE INDEX (lockstep_instances_actor)
WHERE i.actor_type = ? AND i.actor_id > ? ORDER BY i.actor_id LIMIT ?
