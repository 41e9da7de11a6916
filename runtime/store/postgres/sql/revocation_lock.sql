-- R39: one after the other, so that positions are committed in their order.
INSERT INTO lockstep.lockstep_revocations AS r (position, id, principal, session, actor, revoked_at) VALUES (0, '', '', '', '', 0)
ON CONFLICT (position) DO UPDATE SET revoked_at = r.revoked_at
