-- R39: what hubs have not read, or the newest row.
SELECT position, id, principal, session, actor FROM lockstep_revocations
WHERE position > 0 AND position >= LEAST(?, (SELECT MAX(position) FROM lockstep_revocations))
ORDER BY position LIMIT ?
