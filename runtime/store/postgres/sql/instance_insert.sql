-- G2: one instance for each actor; racing inserts meet at the unique index in one order, and the loser tries again.
INSERT INTO lockstep.lockstep_instances
	(id, actor_type, actor_id, head_sequence, next_sequence, owner, token, generation, lease_until, created_at, last_used_at)
SELECT v.id, v.actor_type, v.actor_id, 1, v.next_sequence, v.owner, v.token, v.generation, v.lease_until, $9::bigint, $9::bigint
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[])
	AS v (id, actor_type, actor_id, next_sequence, owner, token, generation, lease_until)
ORDER BY v.actor_type COLLATE "C", v.actor_id COLLATE "C"
