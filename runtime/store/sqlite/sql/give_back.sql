-- G10: the lease ends; the generation stays, so that it never repeats.
UPDATE lockstep_instances SET owner = NULL, token = NULL, lease_until = 0, last_used_at = ?
WHERE id = ? AND owner = ? AND token = ? AND generation = ? AND lease_until > ?
RETURNING actor_type, paused_at
