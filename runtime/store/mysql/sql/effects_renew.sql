-- G24: an executor that is at work keeps its effects.
UPDATE lockstep_effects e FORCE INDEX (PRIMARY) SET e.due_at =
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ?
WHERE e.owner = ? AND e.state = 'pending' AND e.id IN (/*each*/?/*end*/)
