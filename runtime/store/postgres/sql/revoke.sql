-- R39: the next position, under the lock.
INSERT INTO lockstep.lockstep_revocations (position, id, principal, session, actor, revoked_at)
VALUES ((SELECT max(position) + 1 FROM lockstep.lockstep_revocations), $1::text, $2::text, $3::text, $4::text,
	(SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $5::bigint))
