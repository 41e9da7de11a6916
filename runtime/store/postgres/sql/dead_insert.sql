-- G16: what was given up is kept whole.
INSERT INTO lockstep.lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin,
	idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta)
SELECT m.id, m.instance_id, i.actor_type, i.actor_id, m.sequence, m.operation, m.arguments, m.origin,
	m.idempotency_key, m.fingerprint, m.attempts, m.max_attempts, m.enqueued_at, m.available_at, $5::bigint, v.error_kind,
	v.error_text, v.stack, m.meta
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS v (id, error_kind, error_text, stack)
	JOIN lockstep.lockstep_messages m ON m.id = v.id
	JOIN lockstep.lockstep_instances i ON i.id = m.instance_id
