-- G34: effects that failed for good go with the history of their time.
DELETE FROM lockstep.lockstep_effects WHERE id = ANY (ARRAY(
	SELECT e.id FROM lockstep.lockstep_effects e
	WHERE e.state = 'failed' AND e.finished_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint) - $2::bigint
	ORDER BY e.finished_at LIMIT $3::bigint
	FOR UPDATE SKIP LOCKED))
