-- G6, G7: owner, token, expiry and generation + 1 in one statement; a lease that the owner still holds keeps token and generation.
UPDATE lockstep_instances SET
	generation = CASE WHEN owner = ?1 AND lease_until > ?3 THEN generation ELSE generation + 1 END,
	token = CASE WHEN owner = ?1 AND lease_until > ?3 THEN token ELSE ?2 END,
	lease_until = ?4, owner = ?1, last_used_at = ?3
WHERE id = ?5 AND (owner IS NULL OR lease_until <= ?3 OR owner = ?1)
RETURNING token, generation, lease_until, id, revision, message_id, broadcast_revision, state_version, state
