-- Design 4: no transaction is begun to find nothing.
SELECT 1
FROM lockstep_ready r FORCE INDEX (lockstep_ready_pick) STRAIGHT_JOIN lockstep_instances i ON i.id = r.instance_id
WHERE r.queue = '' AND r.priority = 0 AND r.due_at <=
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ? AND r.actor_type IN (/*each*/?/*end*/)
	AND r.instance_id NOT IN (/*each*/?/*end*/)
	AND (i.owner IS NULL OR i.lease_until <=
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ? OR i.owner = ?)
LIMIT 1
