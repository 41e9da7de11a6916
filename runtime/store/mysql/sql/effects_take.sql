-- G23, G24: effects that nobody works at, longest due first; one that another executor is taking is skipped.
SELECT e.id, e.name, e.arguments, e.done, e.failed, e.max_attempts, e.meta, e.instance_id, e.attempts
FROM lockstep_effects e FORCE INDEX (lockstep_effects_due)
WHERE e.state = 'pending' AND e.due_at <= ? AND e.name IN (/*each*/?/*end*/)
ORDER BY e.due_at
LIMIT ?
FOR UPDATE SKIP LOCKED
