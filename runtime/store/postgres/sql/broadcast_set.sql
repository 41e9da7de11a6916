-- G27: the row is its committer's until it is handed on or that claim lapses; it stands for the one before.
INSERT INTO lockstep.lockstep_broadcasts (instance_id, id, actor_type, actor_id, revision, previous, message_id, names, shared,
	owner, claimed_at)
SELECT v.instance_id, v.id, v.actor_type, v.actor_id, v.revision, v.previous, v.message_id, v.names, v.shared, v.owner, $11::bigint
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[])
	AS v (instance_id, id, actor_type, actor_id, revision, previous, message_id, names, shared, owner)
ON CONFLICT (instance_id) DO UPDATE SET
	id = excluded.id, revision = excluded.revision, previous = excluded.previous, message_id = excluded.message_id,
	names = excluded.names, shared = excluded.shared, owner = excluded.owner, claimed_at = excluded.claimed_at
