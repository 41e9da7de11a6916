-- G25: occurrences that are due, longest overdue first.
SELECT r.id, r.instance_id, r.operation, r.arguments, r.interval, r.catch_up, r.next_at
FROM lockstep_reminders r WHERE r.due_at <= ? ORDER BY r.due_at LIMIT ?
