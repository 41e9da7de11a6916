-- Design 4: no transaction is begun to find nothing.
SELECT 1 FROM lockstep_broadcasts b FORCE INDEX (lockstep_broadcasts_claimed) WHERE b.claimed_at <=
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ? LIMIT 1
