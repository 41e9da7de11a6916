-- G27, D47: rows whose claim lapsed, whatever their revision, are their taker's until they are handed on.
UPDATE lockstep.lockstep_broadcasts b SET owner = $1::text, claimed_at = (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $2::bigint)
WHERE b.instance_id = ANY (ARRAY(
	SELECT l.instance_id FROM lockstep.lockstep_broadcasts l
	WHERE l.claimed_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $2::bigint) - $3::bigint
	ORDER BY l.claimed_at LIMIT $4::bigint
	FOR UPDATE SKIP LOCKED))
RETURNING b.instance_id, b.id, b.actor_type, b.actor_id, b.revision, b.previous, b.message_id, b.names, b.shared
