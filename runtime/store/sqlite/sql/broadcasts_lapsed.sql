-- G27, D47: rows whose claim lapsed, whatever their revision; an actor has one at most.
SELECT instance_id, id, actor_type, actor_id, revision, previous, message_id, names, shared
FROM lockstep_broadcasts WHERE claimed_at <= ? ORDER BY claimed_at LIMIT ?
