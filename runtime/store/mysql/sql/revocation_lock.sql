-- R39: one after the other, so that positions are committed in their order.
INSERT INTO lockstep_revocations (position, id, principal, session, actor, revoked_at) VALUES (0, '', '', '', '', 0)
ON DUPLICATE KEY UPDATE revoked_at = 0
