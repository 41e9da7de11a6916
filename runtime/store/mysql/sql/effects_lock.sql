-- G26: the attempts that are current, under their lock.
SELECT e.id, e.instance_id, e.owner, e.attempts, e.state FROM lockstep_effects e FORCE INDEX (PRIMARY)
WHERE e.id IN (/*each*/?/*end*/)
ORDER BY e.id
FOR UPDATE
