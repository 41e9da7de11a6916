-- Design 4: when the earliest work of each kind can be taken; each part reads one index entry of those that count.
SELECT
	(SELECT due_at FROM lockstep_ready WHERE queue = '' AND priority = 0 AND due_at < 9223372036854775807
		AND actor_type IN (SELECT value FROM json_each(?)) ORDER BY due_at LIMIT 1),
	(SELECT due_at FROM lockstep_effects WHERE state = 'pending'
		AND name IN (SELECT value FROM json_each(?)) ORDER BY due_at LIMIT 1),
	(SELECT min(due_at) FROM lockstep_reminders),
	(SELECT min(due_at) FROM lockstep_sends)
