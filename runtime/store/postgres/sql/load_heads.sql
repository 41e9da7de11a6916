-- G5: the head of a mailbox, or the message so far behind it.
SELECT m.id, m.instance_id, m.sequence, m.operation, m.arguments, m.origin, coalesce(m.idempotency_key, ''),
	coalesce(m.fingerprint, ''), m.attempts, m.max_attempts, m.enqueued_at, m.available_at, coalesce(m.finished_at, 0), m.status,
	m.result, m.rejection, coalesce(m.error_kind, ''), m.meta, i.actor_type, i.actor_id
FROM unnest($1::text[], $2::bigint[]) AS v (instance_id, behind)
	CROSS JOIN LATERAL (SELECT * FROM lockstep.lockstep_instances o WHERE o.id = v.instance_id OFFSET 0) i
	CROSS JOIN LATERAL (
		SELECT * FROM lockstep.lockstep_messages o WHERE o.instance_id = i.id AND o.sequence = i.head_sequence + v.behind OFFSET 0) m
