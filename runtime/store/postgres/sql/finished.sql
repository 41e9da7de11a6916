-- G34, D56: a page of finished history, oldest first; live and dead messages are not finished here.
SELECT m.id, coalesce((SELECT i.actor_type FROM lockstep.lockstep_instances i WHERE i.id = m.instance_id), ''), m.finished_at,
	EXISTS (SELECT 1 FROM lockstep.lockstep_effects e
			WHERE e.instance_id = m.instance_id AND e.message_id = m.id AND e.state || '' = 'pending' OFFSET 0)
		OR EXISTS (SELECT 1 FROM lockstep.lockstep_sends s WHERE s.instance_id = m.instance_id AND s.message_id = m.id OFFSET 0)
		OR EXISTS (SELECT 1 FROM lockstep.lockstep_broadcasts b WHERE b.instance_id = m.instance_id AND b.message_id = m.id OFFSET 0)
FROM lockstep.lockstep_messages m
WHERE m.status IN ('completed', 'rejected') AND m.finished_at >= $3::bigint
	AND m.finished_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint) - $2::bigint
	AND (m.finished_at > $3::bigint OR m.id > $4::text)
ORDER BY m.finished_at, m.id LIMIT $5::bigint
