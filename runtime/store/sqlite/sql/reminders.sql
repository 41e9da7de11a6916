-- G25: reminders and whose they are, in the order in which they are tried.
SELECT i.actor_type, i.actor_id, r.operation, r.key, r.next_at, r.due_at, r.interval, r.catch_up
FROM lockstep_reminders r CROSS JOIN lockstep_instances i ON i.id = r.instance_id
ORDER BY r.due_at LIMIT ?
