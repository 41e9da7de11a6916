-- G25: a cancelled reminder enqueues nothing more. By id, not by place: a scheduler may have moved the row meanwhile.
DELETE FROM lockstep.lockstep_reminders r
WHERE r.id = ANY (ARRAY(
	SELECT x.id FROM unnest($1::text[], $2::text[], $3::text[]) AS v (instance_id, operation, key)
		CROSS JOIN LATERAL (SELECT o.id FROM lockstep.lockstep_reminders o WHERE o.instance_id = v.instance_id AND o.operation = v.operation AND o.key = v.key OFFSET 0) x))
