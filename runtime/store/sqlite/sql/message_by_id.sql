-- G28: a message is there as long as its instance is.
SELECT m.id, m.instance_id, m.sequence, m.operation, m.arguments, m.origin, m.idempotency_key, m.fingerprint, m.attempts,
	m.max_attempts, m.enqueued_at, m.available_at, m.finished_at, m.status, m.result, m.rejection, m.error_kind, m.meta,
	i.actor_type, i.actor_id,
	i.head_sequence, i.lease_until, i.paused_at, i.owner,
	(SELECT c.message_id FROM lockstep_claimed c WHERE c.instance_id = i.id)
FROM lockstep_messages m JOIN lockstep_instances i ON i.id = m.instance_id
WHERE m.id = ?
