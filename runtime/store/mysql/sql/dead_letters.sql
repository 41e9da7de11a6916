-- G17: the newest given-up messages.
SELECT d.id, d.instance_id, d.sequence, d.operation, d.arguments, d.origin, d.idempotency_key, d.fingerprint,
	d.attempts,
	d.max_attempts, d.enqueued_at, d.available_at, d.failed_at, 'dead', NULL, NULL, d.error_kind, d.meta, d.actor_type,
	d.actor_id,
	d.error_text, d.replacement
FROM lockstep_dead_letters d ORDER BY d.failed_at DESC, d.id DESC LIMIT ?
