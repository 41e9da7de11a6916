-- G34: effects that failed for good, oldest first.
SELECT e.id FROM lockstep_effects e FORCE INDEX (lockstep_effects_finished)
WHERE e.state = 'failed' AND e.finished_at <=
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ?
ORDER BY e.finished_at LIMIT ?
