-- G6, G7: instances are as they were left, their leases run, no key is there, and the clock is where it was expected, now that they are locked; or else the transaction fails.
SELECT c.now, CASE WHEN c.now - $8::bigint BETWEEN -20000 AND 1000000
	AND (SELECT count(*) FROM (
		SELECT FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bigint[], $7::bigint[])
				AS v (id, head_sequence, next_sequence, owner, token, generation, lease_until)
			JOIN lockstep.lockstep_instances i ON i.id = v.id
		WHERE i.head_sequence = v.head_sequence AND i.next_sequence = v.next_sequence AND i.owner = v.owner AND i.token = v.token
			AND i.generation = v.generation AND i.lease_until = v.lease_until AND i.paused_at IS NULL
			AND i.lease_until > (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $9::bigint
		ORDER BY i.id
		FOR NO KEY UPDATE OF i SKIP LOCKED) l) = cardinality($1::text[])
	AND NOT EXISTS (SELECT FROM unnest($10::text[], $11::text[]) AS k (instance_id, idempotency_key)
		JOIN lockstep.lockstep_messages m ON m.instance_id = k.instance_id AND m.idempotency_key = k.idempotency_key)
	THEN 0 ELSE ('something changed: lockstep reads it and tries again' || left(c.now::text, 0))::integer END
FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $9::bigint AS now OFFSET 0) c
