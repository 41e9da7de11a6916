-- G12: a message to another actor waits here until it is in that mailbox; its position is the order of staging.
INSERT INTO lockstep.lockstep_sends (id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key,
	fingerprint, max_attempts, available_at, due_at, meta)
SELECT v.id, v.instance_id, v.message_id, v.target_type, v.target_id, v.operation, v.arguments, v.idempotency_key,
	v.fingerprint, v.max_attempts, v.available_at, $13::bigint, v.meta
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
		$10::bigint[], $11::bigint[], $12::text[])
	WITH ORDINALITY AS v (id, instance_id, message_id, target_type, target_id, operation, arguments, idempotency_key,
		fingerprint, max_attempts, available_at, meta, place)
ORDER BY v.place
