-- R39: the newest position, under the lock.
SELECT position FROM lockstep_revocations ORDER BY position DESC LIMIT 1 FOR UPDATE
