-- G7, G9: an expired lease cannot be renewed.
UPDATE lockstep_instances SET lease_until = ?
WHERE id = ? AND owner = ? AND token = ? AND generation = ? AND lease_until > ?
