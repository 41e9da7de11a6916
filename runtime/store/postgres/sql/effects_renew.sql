-- G24: an executor that is at work keeps its effect.
UPDATE lockstep.lockstep_effects SET due_at = (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $3::bigint) + $4::bigint
WHERE id = ANY (ARRAY(
	SELECT e.id FROM lockstep.lockstep_effects e
	WHERE e.id = ANY ($1::text[]) AND e.owner = $2::text AND e.state = 'pending'
	ORDER BY e.id FOR UPDATE))
