-- G1, G3: a message enters history once.
INSERT INTO lockstep_messages (id, instance_id, sequence, previous, operation, arguments, origin, idempotency_key,
	fingerprint,
	attempts, max_attempts, enqueued_at, available_at, status, meta)
VALUES /*each*/(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'live', ?)/*end*/
