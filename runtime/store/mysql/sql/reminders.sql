-- G25: reminders and whose they are, in the order in which they are tried.
SELECT i.actor_type, i.actor_id, r.operation, r.reminder_key, r.next_at, r.due_at, r.period, r.catch_up
FROM lockstep_reminders r FORCE INDEX (lockstep_reminders_due)
	STRAIGHT_JOIN lockstep_instances i FORCE INDEX (PRIMARY) ON i.id = r.instance_id
ORDER BY r.due_at LIMIT ?
