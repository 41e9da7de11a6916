-- D48: a message that its target's mailbox refuses for good ends visible.
INSERT INTO lockstep.lockstep_dead_letters (id, instance_id, actor_type, actor_id, sequence, operation, arguments, origin,
	idempotency_key, fingerprint, attempts, max_attempts, enqueued_at, available_at, failed_at, error_kind, error_text, stack, meta)
VALUES ($1::text, $2::text, $3::text, $4::text, 0, $5::text, $6::text, 'actor', $7::text, $8::text, 0, $9::bigint, $10::bigint,
	$11::bigint, $10::bigint, 'idempotency conflict', $12::text, '', $13::text)
ON CONFLICT DO NOTHING
