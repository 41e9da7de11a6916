-- G12, G23: an effect exists once its turn has committed, under an id that no attempt changes.
INSERT INTO lockstep.lockstep_effects (id, instance_id, message_id, name, arguments, done, failed, max_attempts, due_at, meta)
SELECT v.id, v.instance_id, v.message_id, v.name, v.arguments, v.done, v.failed, v.max_attempts, $10::bigint, v.meta
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[])
	AS v (id, instance_id, message_id, name, arguments, done, failed, max_attempts, meta)
