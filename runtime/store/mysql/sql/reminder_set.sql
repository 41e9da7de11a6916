-- G25: a reminder has a name and a key; setting it again moves it.
INSERT INTO lockstep_reminders (instance_id, operation, reminder_key, arguments, period, catch_up, next_at, due_at)
VALUES /*each*/(?, ?, ?, ?, ?, ?, ?, ?)/*end*/
ON DUPLICATE KEY UPDATE
	arguments = VALUES(arguments), period = VALUES(period), catch_up = VALUES(catch_up),
	next_at = VALUES(next_at), due_at = VALUES(due_at)
