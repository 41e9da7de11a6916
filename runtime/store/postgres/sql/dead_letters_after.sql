-- G17: given-up messages in the order in which they failed.
SELECT id, instance_id, sequence, operation, arguments, origin, coalesce(idempotency_key, ''), coalesce(fingerprint, ''),
	attempts, max_attempts, enqueued_at, available_at, failed_at, 'dead', NULL::text, NULL::text, error_kind, meta, actor_type,
	actor_id, error_text, replacement
FROM lockstep.lockstep_dead_letters WHERE (failed_at, id) > ($1::bigint, $2::text) ORDER BY failed_at, id LIMIT $3::bigint
