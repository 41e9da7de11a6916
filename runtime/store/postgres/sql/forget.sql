-- G34, D56: history goes by primary key; what an outbox needs stays, as does what is not finished.
DELETE FROM lockstep.lockstep_messages WHERE id = ANY (ARRAY(
	SELECT m.id FROM unnest($1::text[]) AS k (id) CROSS JOIN LATERAL (
		SELECT * FROM lockstep.lockstep_messages o WHERE o.id = k.id FOR UPDATE SKIP LOCKED) m
	WHERE m.status IN ('completed', 'rejected')
		AND NOT EXISTS (SELECT 1 FROM lockstep.lockstep_effects e
			WHERE e.instance_id = m.instance_id AND e.message_id = m.id AND e.state || '' = 'pending' OFFSET 0)
		AND NOT EXISTS (SELECT 1 FROM lockstep.lockstep_sends s WHERE s.instance_id = m.instance_id AND s.message_id = m.id OFFSET 0)
		AND NOT EXISTS (SELECT 1 FROM lockstep.lockstep_broadcasts b WHERE b.instance_id = m.instance_id AND b.message_id = m.id OFFSET 0)))
