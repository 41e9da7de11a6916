-- D48: an earlier message of the same source to the same target goes first.
SELECT v.position, (SELECT s.position FROM lockstep.lockstep_sends s
	WHERE s.instance_id = v.instance_id AND s.target_type = v.target_type AND s.target_id = v.target_id
	ORDER BY s.position LIMIT 1),
	(SELECT s.due_at FROM lockstep.lockstep_sends s
	WHERE s.instance_id = v.instance_id AND s.target_type = v.target_type AND s.target_id = v.target_id
	ORDER BY s.position LIMIT 1)
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) AS v (position, instance_id, target_type, target_id)
