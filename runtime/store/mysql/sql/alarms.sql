-- G25: an actor reads its own schedule.
SELECT r.operation, r.reminder_key, r.next_at, r.period, r.catch_up FROM lockstep_reminders r
WHERE r.instance_id = ? ORDER BY r.operation, r.reminder_key
