-- G20, G28: a message and what it may wait for.
SELECT m.id, m.instance_id, m.sequence, m.operation, m.arguments, m.origin, m.idempotency_key, m.fingerprint,
	m.attempts,
	m.max_attempts, m.enqueued_at, m.available_at, m.finished_at, m.status, m.result, m.rejection, m.error_kind, m.meta,
	i.actor_type, i.actor_id,
	i.head_sequence, i.lease_until, i.paused_at, i.owner, i.claimed_id,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6))
FROM lockstep_messages m STRAIGHT_JOIN lockstep_instances i ON i.id = m.instance_id
WHERE m.id = ?
