-- R39: every hub has read what is old; the newest row stays.
DELETE FROM lockstep_revocations WHERE position > 0 AND position < ? AND revoked_at <= ?
