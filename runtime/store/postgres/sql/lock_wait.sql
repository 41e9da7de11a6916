-- Design 4: instances are locked in one order where the wait is worth it.
SELECT i.id FROM lockstep.lockstep_instances i
WHERE i.id = ANY ($1::text[] || ARRAY(
	SELECT j.id FROM unnest($2::text[], $3::text[]) AS k (actor_type, actor_id)
		CROSS JOIN LATERAL (SELECT o.id FROM lockstep.lockstep_instances o
			WHERE o.actor_type = k.actor_type AND o.actor_id = k.actor_id OFFSET 0) j))
ORDER BY i.id
FOR NO KEY UPDATE OF i
