-- G12: a message to another actor waits here until it is in that mailbox.
INSERT INTO lockstep_sends (id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key,
	fingerprint, max_attempts, available_at, due_at, meta)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
