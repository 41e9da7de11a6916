-- R39: positions are given under the write lock, in the order of the commits.
INSERT INTO lockstep_revocations (position, id, principal, session, actor, revoked_at)
VALUES ((SELECT coalesce(max(position), 0) + 1 FROM lockstep_revocations), ?, ?, ?, ?, ?)
