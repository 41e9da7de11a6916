-- G23: the attempt is counted before it is made.
UPDATE lockstep_effects e FORCE INDEX (PRIMARY) SET e.owner = ?, e.due_at = ?, e.attempts = e.attempts + 1
WHERE e.id IN (/*each*/?/*end*/)
