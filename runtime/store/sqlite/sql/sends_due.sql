-- D48: messages between actors that may be delivered.
SELECT position, id, instance_id, target_type, target_id, operation, arguments, idempotency_key, fingerprint, max_attempts,
	available_at, meta
FROM lockstep_sends WHERE due_at <= ? ORDER BY due_at, position LIMIT ?
