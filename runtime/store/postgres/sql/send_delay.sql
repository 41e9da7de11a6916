-- D48: a target that takes no more delays only its own.
UPDATE lockstep.lockstep_sends s SET due_at = v.due_at
FROM unnest($1::bigint[], $2::bigint[]) AS v (position, due_at)
	CROSS JOIN LATERAL (SELECT o.ctid FROM lockstep.lockstep_sends o WHERE o.position = v.position OFFSET 0) x
WHERE s.ctid = x.ctid
