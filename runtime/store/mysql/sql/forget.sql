-- G34, D56: history goes by primary key; what an outbox needs stays, as does what is not finished.
DELETE m FROM (/*rows*/SELECT CAST(? AS BINARY) AS k/*end*/) v
	STRAIGHT_JOIN lockstep_messages m ON m.id = v.k AND m.prunable_at IS NOT NULL
	LEFT JOIN lockstep_effects e FORCE INDEX (lockstep_effects_instance)
		ON e.instance_id = m.instance_id AND e.message_id = m.id AND e.state = 'pending'
	LEFT JOIN lockstep_sends s FORCE INDEX (lockstep_sends_message) ON s.message_id = m.id
	LEFT JOIN lockstep_broadcasts b FORCE INDEX (PRIMARY) ON b.instance_id = m.instance_id AND b.message_id = m.id
WHERE e.id IS NULL AND s.id IS NULL AND b.id IS NULL
