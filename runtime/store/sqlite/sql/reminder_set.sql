-- G25: a reminder has a name and a key; setting it again moves it.
INSERT INTO lockstep_reminders (id, instance_id, operation, key, arguments, interval, catch_up, next_at, due_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (instance_id, operation, key) DO UPDATE SET
	arguments = excluded.arguments, interval = excluded.interval, catch_up = excluded.catch_up,
	next_at = excluded.next_at, due_at = excluded.due_at
