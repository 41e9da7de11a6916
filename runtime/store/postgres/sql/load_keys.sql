-- G3: an idempotency key is unique for each incarnation.
SELECT m.id, m.instance_id, m.sequence, m.operation, m.arguments, m.origin, coalesce(m.idempotency_key, ''),
	coalesce(m.fingerprint, ''), m.attempts, m.max_attempts, m.enqueued_at, m.available_at, coalesce(m.finished_at, 0), m.status,
	m.result, m.rejection, coalesce(m.error_kind, ''), m.meta, i.actor_type, i.actor_id
FROM unnest($1::text[], $2::text[], $3::text[]) AS k (actor_type, actor_id, idempotency_key)
	CROSS JOIN LATERAL (
		SELECT * FROM lockstep.lockstep_instances o WHERE o.actor_type = k.actor_type AND o.actor_id = k.actor_id OFFSET 0) i
	CROSS JOIN LATERAL (
		SELECT * FROM lockstep.lockstep_messages o WHERE o.instance_id = i.id AND o.idempotency_key = k.idempotency_key OFFSET 0) m
