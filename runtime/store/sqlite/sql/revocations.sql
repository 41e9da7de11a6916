-- R39: what hubs have not read, or the newest row.
SELECT position, id, principal, session, actor FROM lockstep_revocations
WHERE position >= (SELECT min(?, max(position)) FROM lockstep_revocations)
ORDER BY position LIMIT ?
