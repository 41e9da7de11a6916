-- G24, G31: a dead executor's effects may be taken at once; a graceful end costs no attempt.
UPDATE lockstep_effects e FORCE INDEX (PRIMARY) SET e.owner = NULL, e.due_at = ?,
	e.attempts = GREATEST(e.attempts - ?, 0)
WHERE e.id IN (/*each*/?/*end*/)
