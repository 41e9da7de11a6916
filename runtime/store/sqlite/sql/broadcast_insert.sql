-- G27: the row is its committer's until it is handed on or that claim lapses.
INSERT INTO lockstep_broadcasts (instance_id, id, actor_type, actor_id, revision, previous, message_id, names, shared,
	owner, claimed_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (instance_id) DO NOTHING
