-- R39: every hub has read what is old; the newest row stays.
DELETE FROM lockstep.lockstep_revocations
WHERE position > 0 AND position < (SELECT max(position) FROM lockstep.lockstep_revocations)
	AND revoked_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint) - $2::bigint
