-- G5: one message of a mailbox.
SELECT m.id, m.instance_id, m.sequence, m.operation, m.arguments, m.origin, coalesce(m.idempotency_key, ''),
	coalesce(m.fingerprint, ''), m.attempts, m.max_attempts, m.enqueued_at, m.available_at, coalesce(m.finished_at, 0), m.status,
	m.result, m.rejection, coalesce(m.error_kind, ''), m.meta, i.actor_type, i.actor_id
FROM lockstep.lockstep_messages m JOIN lockstep.lockstep_instances i ON i.id = m.instance_id
WHERE m.instance_id = $1::text AND m.sequence = $2::bigint
