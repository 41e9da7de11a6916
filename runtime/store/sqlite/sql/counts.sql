-- G34, G30: what waits, by ranges of indexes up to a limit.
SELECT
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_ready WHERE queue = '' AND priority = 0 AND due_at <= ?1 LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_ready WHERE queue = '' AND priority = 0
		AND due_at > ?1 AND due_at < 9223372036854775807 LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_ready WHERE queue = '' AND priority = 0 AND due_at = 9223372036854775807 LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_claimed LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_queued WHERE instance_id > '' LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_effects WHERE state = 'pending' AND due_at <= ?1 LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_effects WHERE state = 'pending' ORDER BY due_at LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_effects WHERE state = 'failed' ORDER BY finished_at LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_reminders WHERE due_at <= ?1 LIMIT ?2)),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep_sends WHERE due_at <= ?1 LIMIT ?2)),
	(SELECT count(*) FROM (SELECT replacement FROM lockstep_dead_letters ORDER BY failed_at DESC LIMIT ?2) WHERE replacement = ''),
	(SELECT min(due_at) FROM lockstep_ready WHERE queue = '' AND priority = 0 AND due_at <= ?1),
	(SELECT min(due_at) FROM lockstep_effects WHERE state = 'pending' AND due_at <= ?1),
	(SELECT min(due_at) FROM lockstep_reminders WHERE due_at <= ?1),
	(SELECT min(due_at) FROM lockstep_sends WHERE due_at <= ?1)
