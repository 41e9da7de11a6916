-- G34, D56: history goes by primary key; what an outbox needs stays, as does what is not finished.
DELETE FROM lockstep_messages WHERE id IN (SELECT m.id
	FROM json_each(?) k CROSS JOIN lockstep_messages m ON m.id = k.value
	WHERE m.status IN ('completed', 'rejected')
		AND NOT EXISTS (SELECT 1 FROM lockstep_effects e
			WHERE e.instance_id = m.instance_id AND e.message_id = m.id AND e.state = 'pending')
		AND NOT EXISTS (SELECT 1 FROM lockstep_sends s WHERE s.instance_id = m.instance_id AND s.message_id = m.id)
		AND NOT EXISTS (SELECT 1 FROM lockstep_broadcasts b WHERE b.instance_id = m.instance_id AND b.message_id = m.id))
