-- G28: history goes in bounded batches.
DELETE FROM lockstep.lockstep_messages WHERE id = ANY (ARRAY(
	SELECT m.id FROM unnest($1::text[]) AS g (instance_id) CROSS JOIN LATERAL (
		SELECT o.id FROM lockstep.lockstep_messages o WHERE o.instance_id = g.instance_id LIMIT $2::bigint) m
	LIMIT $2::bigint))
