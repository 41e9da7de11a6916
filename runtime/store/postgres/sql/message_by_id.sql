-- G28: a message is there as long as its instance is.
SELECT m.id, m.instance_id, m.sequence, m.operation, m.arguments, m.origin, coalesce(m.idempotency_key, ''),
	coalesce(m.fingerprint, ''), m.attempts + (c.message_id IS NOT DISTINCT FROM m.id)::int, m.max_attempts, m.enqueued_at, m.available_at, coalesce(m.finished_at, 0), m.status,
	m.result, m.rejection, coalesce(m.error_kind, ''), m.meta, i.actor_type, i.actor_id,
	i.head_sequence, i.lease_until, i.paused_at IS NOT NULL, coalesce(i.owner, ''), coalesce(c.message_id, ''),
	(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $2::bigint
FROM lockstep.lockstep_messages m
	JOIN lockstep.lockstep_instances i ON i.id = m.instance_id
	LEFT JOIN lockstep.lockstep_claimed c ON c.instance_id = i.id
WHERE m.id = $1::text
