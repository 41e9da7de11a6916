-- G27, D47: rows whose claim lapsed, whatever their revision; an actor has one at most.
SELECT b.instance_id, b.id, b.actor_type, b.actor_id, b.revision, b.previous, b.message_id, b.names, b.shared
FROM lockstep_broadcasts b FORCE INDEX (lockstep_broadcasts_claimed)
WHERE b.claimed_at <= ? ORDER BY b.claimed_at LIMIT ?
FOR UPDATE SKIP LOCKED
