-- G26: only the attempt that is current can end an effect.
SELECT e.id, e.instance_id, coalesce(e.owner, ''), e.attempts
FROM lockstep.lockstep_effects e WHERE e.id = ANY ($1::text[]) AND e.state = 'pending'
ORDER BY e.id FOR UPDATE
