-- G8, G20: as expired_claims, of one instance.
SELECT c.instance_id FROM lockstep_claimed c CROSS JOIN lockstep_instances i ON i.id = c.instance_id
WHERE i.lease_until <= ? AND c.instance_id = ?
