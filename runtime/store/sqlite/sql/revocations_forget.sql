-- R39: every hub has read what is old; the newest row stays.
DELETE FROM lockstep_revocations
WHERE position > 0 AND position < (SELECT max(position) FROM lockstep_revocations) AND revoked_at <= ?
