-- Design 5: what a hub compares with its marks.
SELECT k.place, i.id, i.broadcast_revision, i.broadcast_message_id, i.revision
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (actor_type, actor_id, place)
	CROSS JOIN LATERAL (
		SELECT * FROM lockstep.lockstep_instances o WHERE o.actor_type = k.actor_type AND o.actor_id = k.actor_id OFFSET 0) i
