-- G25: an actor reads its own schedule.
SELECT operation, key, next_at, interval, catch_up FROM lockstep_reminders WHERE instance_id = ? ORDER BY operation, key
