-- G25: those that are still there, under the lock of their actors.
SELECT r.instance_id, r.operation, r.reminder_key, r.arguments, r.period, r.catch_up, r.next_at, r.due_at
FROM lockstep_reminders r FORCE INDEX (PRIMARY)
WHERE /*any*/(r.instance_id = ? AND r.operation = ? AND r.reminder_key = ?)/*end*/
FOR UPDATE
