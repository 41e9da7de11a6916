-- G3, D30: as message_known, by idempotency key.
SELECT m.id, m.instance_id, m.sequence, m.operation, m.arguments, m.origin, m.idempotency_key, m.fingerprint,
	m.attempts,
	m.max_attempts, m.enqueued_at, m.available_at, m.finished_at, m.status, m.result, m.rejection, m.error_kind, m.meta,
	i.actor_type, i.actor_id
FROM lockstep_messages m FORCE INDEX (lockstep_messages_key) STRAIGHT_JOIN lockstep_instances i ON i.id = m.instance_id
WHERE m.instance_key = ?
LOCK IN SHARE MODE
