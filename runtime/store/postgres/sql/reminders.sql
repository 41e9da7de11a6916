-- G25: reminders and whose they are, in the order in which they are tried.
SELECT i.actor_type, i.actor_id, r.operation, r.key, r.next_at, r.due_at, r.interval, r.catch_up
FROM (SELECT * FROM lockstep.lockstep_reminders ORDER BY due_at LIMIT $1::bigint) r CROSS JOIN LATERAL (
	SELECT * FROM lockstep.lockstep_instances o WHERE o.id = r.instance_id OFFSET 0) i
