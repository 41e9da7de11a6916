-- D48: a message that its target's mailbox refuses for good ends visible.
INSERT INTO lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin,
	idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta)
VALUES (?, ?, ?, ?, 0, ?, ?, 'actor', ?, ?, 0, ?, ?, ?, ?, ?, ?, '', ?)
ON CONFLICT DO NOTHING
