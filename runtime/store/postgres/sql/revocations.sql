-- R39: what hubs have not read, or the newest row.
SELECT position, id, principal, session, actor FROM lockstep.lockstep_revocations
WHERE position > 0 AND position >= least($1::bigint, (SELECT max(position) FROM lockstep.lockstep_revocations))
ORDER BY position LIMIT $2::bigint
