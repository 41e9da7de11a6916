-- G34, D56: a page of finished history, oldest first; live and dead messages are not finished here.
SELECT m.id, (SELECT i.actor_type FROM lockstep_instances i WHERE i.id = m.instance_id), m.prunable_at,
	EXISTS (SELECT 1 FROM lockstep_effects e FORCE INDEX (lockstep_effects_instance)
			WHERE e.instance_id = m.instance_id AND e.message_id = m.id AND e.state = 'pending')
		OR EXISTS (SELECT 1 FROM lockstep_sends s FORCE INDEX (lockstep_sends_message) WHERE s.message_id = m.id)
		OR EXISTS (SELECT 1 FROM lockstep_broadcasts b FORCE INDEX (PRIMARY)
			WHERE b.instance_id = m.instance_id AND b.message_id = m.id)
FROM lockstep_messages m FORCE INDEX (lockstep_messages_prunable)
WHERE m.prunable_at >= ? AND m.prunable_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ?
	AND (m.prunable_at > ? OR m.id > ?)
ORDER BY m.prunable_at, m.id LIMIT ?
