-- G17: the newest given-up messages.
SELECT id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint, attempts, max_attempts,
	enqueued_at, available_at, failed_at, 'dead', NULL, NULL, error_kind, meta, actor_type, actor_id, error_text, replacement
FROM lockstep_dead_letters ORDER BY failed_at DESC, id DESC LIMIT ?
