-- G25: occurrences that are due, longest overdue first.
SELECT r.instance_id, r.operation, r.reminder_key FROM lockstep_reminders r FORCE INDEX (lockstep_reminders_due)
WHERE r.due_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ? ORDER BY r.due_at LIMIT ?
