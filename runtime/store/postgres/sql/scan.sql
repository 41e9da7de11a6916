-- G4, G5, G6, D31: heads that are due and that nobody else holds, longest wait first; whoever scans at once takes others.
SELECT i.id, i.actor_type, i.actor_id, i.head_sequence, i.next_sequence, coalesce(i.owner, ''), coalesce(i.token, ''),
	i.generation, i.lease_until, coalesce(i.paused_at, 0), i.revision, i.message_id, i.broadcast_previous,
	i.broadcast_revision, i.broadcast_message_id, i.state_version,
	m.id, m.instance_id, m.sequence, m.operation, m.arguments, m.origin, coalesce(m.idempotency_key, ''),
	coalesce(m.fingerprint, ''), m.attempts, m.max_attempts, m.enqueued_at, m.available_at, coalesce(m.finished_at, 0), m.status,
	m.result, m.rejection, coalesce(m.error_kind, ''), m.meta, i.actor_type, i.actor_id,
	i.state, r.due_at
FROM lockstep.lockstep_ready r
	JOIN lockstep.lockstep_instances i ON i.id = r.instance_id
	JOIN lockstep.lockstep_messages m ON m.instance_id = r.instance_id AND m.sequence = r.sequence
WHERE r.queue = '' AND r.priority = 0
	AND r.due_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint)
	AND r.actor_type = ANY ($2::text[]) AND NOT r.instance_id = ANY ($3::text[])
	AND i.paused_at IS NULL AND i.head_sequence = r.sequence
	AND (i.owner IS NULL OR i.owner = $4::text OR i.lease_until <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint))
ORDER BY r.due_at
LIMIT $5::bigint
FOR NO KEY UPDATE OF i, r SKIP LOCKED
