-- G34, D56: a page of finished history, oldest first; live and dead messages are not finished here.
SELECT m.id, (SELECT i.actor_type FROM lockstep_instances i WHERE i.id = m.instance_id), m.finished_at,
	EXISTS (SELECT 1 FROM lockstep_effects e WHERE e.instance_id = m.instance_id AND e.message_id = m.id AND e.state = 'pending')
		OR EXISTS (SELECT 1 FROM lockstep_sends s WHERE s.instance_id = m.instance_id AND s.message_id = m.id)
		OR EXISTS (SELECT 1 FROM lockstep_broadcasts b WHERE b.instance_id = m.instance_id AND b.message_id = m.id)
FROM lockstep_messages m
WHERE m.status IN ('completed', 'rejected') AND m.finished_at BETWEEN ?2 AND ?1 AND (m.finished_at > ?2 OR m.id > ?3)
ORDER BY m.finished_at, m.id LIMIT ?4
