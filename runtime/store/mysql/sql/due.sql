-- Design 4: when the earliest work of each kind can be taken; each part reads one index entry of those that count.
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)),
	(SELECT r.due_at FROM lockstep_ready r FORCE INDEX (lockstep_ready_pick)
		WHERE r.queue = '' AND r.priority = 0 AND r.due_at < 9223372036854775807 AND r.actor_type IN (/*each*/?/*end*/)
		ORDER BY r.due_at LIMIT 1),
	(SELECT e.due_at FROM lockstep_effects e FORCE INDEX (lockstep_effects_due)
		WHERE e.state = 'pending' AND e.name IN (/*each*/?/*end*/) ORDER BY e.due_at LIMIT 1),
	(SELECT MIN(r.due_at) FROM lockstep_reminders r),
	(SELECT MIN(s.due_at) FROM lockstep_sends s)
