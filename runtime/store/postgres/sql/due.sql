-- Design 4: when the earliest work of each kind can be taken; each part reads one index entry of those that count. A name is compared as an expression, so that no plan reads the index by it and then sorts.
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint,
	coalesce((SELECT r.due_at FROM lockstep.lockstep_ready r
		WHERE r.queue = '' AND r.priority = 0 AND r.due_at < 9223372036854775807 AND r.actor_type = ANY ($2::text[])
		ORDER BY r.due_at LIMIT 1), 0),
	coalesce((SELECT e.due_at FROM lockstep.lockstep_effects e WHERE e.state = 'pending' AND e.name || '' = ANY ($3::text[])
		ORDER BY e.due_at LIMIT 1), 0),
	coalesce((SELECT m.due_at FROM lockstep.lockstep_reminders m ORDER BY m.due_at LIMIT 1), 0),
	coalesce((SELECT s.due_at FROM lockstep.lockstep_sends s ORDER BY s.due_at LIMIT 1), 0)
