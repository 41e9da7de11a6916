-- G23, G24: effects that nobody works at, longest due first; the attempt is counted before it is made.
WITH due AS MATERIALIZED (
	SELECT e.id FROM lockstep.lockstep_effects e
	WHERE e.state = 'pending' AND e.due_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $2::bigint) AND e.name || '' = ANY ($3::text[])
	ORDER BY e.due_at LIMIT $4::bigint
	FOR UPDATE SKIP LOCKED
), taken AS (
	UPDATE lockstep.lockstep_effects e SET owner = $1::text, attempts = e.attempts + 1,
		due_at = (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $2::bigint) + $5::bigint
	WHERE e.id = ANY (ARRAY(SELECT due.id FROM due))
	RETURNING e.id, e.name, e.arguments, coalesce(e.done, ''), coalesce(e.failed, ''), e.max_attempts, e.meta, e.instance_id,
		e.attempts
)
SELECT t.*, i.actor_type, i.actor_id
FROM taken t JOIN lockstep.lockstep_instances i ON i.id = t.instance_id
ORDER BY t.id
