-- G8, G31: claims whose lease is over, whoever had it.
SELECT c.instance_id FROM lockstep_claimed c CROSS JOIN lockstep_instances i ON i.id = c.instance_id
WHERE i.lease_until <= ?
LIMIT ?
