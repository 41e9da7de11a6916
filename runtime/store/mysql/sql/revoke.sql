-- R39: the next position, under the lock.
INSERT INTO lockstep_revocations (position, id, principal, session, actor, revoked_at) VALUES (?, ?, ?, ?, ?, ?)
