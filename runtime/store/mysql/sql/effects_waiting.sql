-- Design 4: no transaction is begun to find nothing.
SELECT 1 FROM lockstep_effects e FORCE INDEX (lockstep_effects_due)
WHERE e.state = 'pending' AND e.due_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ?
	AND e.name IN (/*each*/?/*end*/)
LIMIT 1
