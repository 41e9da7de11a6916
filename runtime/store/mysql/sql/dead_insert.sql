-- G16, D48: what was given up is kept whole.
INSERT INTO lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin,
	idempotency_key,
	fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta)
VALUES /*each*/(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)/*end*/
ON DUPLICATE KEY UPDATE failed_at = VALUES(failed_at)
