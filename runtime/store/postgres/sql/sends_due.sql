-- D48: messages between actors that may be delivered; a second deliverer waits for the first, so that order is kept.
SELECT s.position, s.id, s.instance_id, s.target_type, s.target_id, s.operation, s.arguments, coalesce(s.idempotency_key, ''),
	coalesce(s.fingerprint, ''), s.max_attempts, s.available_at, s.meta
FROM lockstep.lockstep_sends s
WHERE s.due_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint)
ORDER BY s.due_at, s.position LIMIT $2::bigint
FOR UPDATE
