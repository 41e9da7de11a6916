-- G34, G30: what waits at this moment, by ranges of indexes up to a limit.
SELECT
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_ready r FORCE INDEX (lockstep_ready_pick)
		WHERE r.queue = '' AND r.priority = 0 AND r.due_at <= ? LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_ready r FORCE INDEX (lockstep_ready_pick)
		WHERE r.queue = '' AND r.priority = 0 AND r.due_at > ? AND r.due_at < 9223372036854775807 LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_ready r FORCE INDEX (lockstep_ready_pick)
		WHERE r.queue = '' AND r.priority = 0 AND r.due_at = 9223372036854775807 LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_instances i FORCE INDEX (lockstep_instances_owner)
		WHERE i.owner IS NOT NULL AND i.claimed_id IS NOT NULL LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_queued q FORCE INDEX (PRIMARY) WHERE q.instance_id > '' LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_effects e FORCE INDEX (lockstep_effects_due)
		WHERE e.state = 'pending' AND e.due_at <= ? LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_effects e FORCE INDEX (lockstep_effects_due)
		WHERE e.state = 'pending' LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_effects e FORCE INDEX (lockstep_effects_finished) WHERE e.state = 'failed' LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_reminders m FORCE INDEX (lockstep_reminders_due) WHERE m.due_at <= ? LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT 1 FROM lockstep_sends s FORCE INDEX (lockstep_sends_due) WHERE s.due_at <= ? LIMIT ?) x),
	(SELECT COUNT(*) FROM (SELECT d.replacement FROM lockstep_dead_letters d FORCE INDEX (lockstep_dead_letters_failed)
		ORDER BY d.failed_at DESC, d.id DESC LIMIT ?) x WHERE x.replacement = ''),
	(SELECT r.due_at FROM lockstep_ready r FORCE INDEX (lockstep_ready_pick)
		WHERE r.queue = '' AND r.priority = 0 AND r.due_at <= ? ORDER BY r.due_at LIMIT 1),
	(SELECT e.due_at FROM lockstep_effects e FORCE INDEX (lockstep_effects_due)
		WHERE e.state = 'pending' AND e.due_at <= ? ORDER BY e.due_at LIMIT 1),
	(SELECT MIN(m.due_at) FROM lockstep_reminders m WHERE m.due_at <= ?),
	(SELECT MIN(s.due_at) FROM lockstep_sends s WHERE s.due_at <= ?)
