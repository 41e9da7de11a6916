-- G8, G31: claims whose lease is over, whoever had it.
SELECT i.id FROM lockstep_instances i FORCE INDEX (lockstep_instances_owner)
WHERE i.owner IS NOT NULL AND i.claimed_id IS NOT NULL AND i.lease_until <=
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ?
LIMIT ?
