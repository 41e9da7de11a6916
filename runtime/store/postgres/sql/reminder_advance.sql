-- G25: the advance commits with the occurrence.
UPDATE lockstep.lockstep_reminders r SET next_at = v.next_at, due_at = v.due_at
FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS v (id, next_at, due_at)
	CROSS JOIN LATERAL (SELECT o.ctid FROM lockstep.lockstep_reminders o WHERE o.id = v.id OFFSET 0) x
WHERE r.ctid = x.ctid
