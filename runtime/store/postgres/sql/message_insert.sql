-- G1, G3: a message enters history once; an id, sequence or key that is there refuses it.
INSERT INTO lockstep.lockstep_messages (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint,
	attempts, max_attempts, enqueued_at, available_at, status, meta)
SELECT v.id, v.instance_id, v.sequence, v.operation, v.arguments, v.origin, v.idempotency_key, v.fingerprint,
	v.attempts, v.max_attempts, v.enqueued_at, v.available_at, 'live', v.meta
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
		$9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::text[])
	AS v (id, instance_id, sequence, operation, arguments, origin, idempotency_key, fingerprint,
		attempts, max_attempts, enqueued_at, available_at, meta)
