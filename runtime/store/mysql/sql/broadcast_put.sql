-- G27: a row is its committer's until it is handed on or that claim lapses; it stands for those that it absorbed.
INSERT INTO lockstep_broadcasts (instance_id, id, actor_type, actor_id, revision, previous, message_id, names,
	shared, owner,
	claimed_at)
VALUES /*each*/(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)/*end*/
ON DUPLICATE KEY UPDATE
	id = VALUES(id), revision = VALUES(revision), previous = VALUES(previous),
	message_id = VALUES(message_id), names = VALUES(names), shared = VALUES(shared),
	owner = VALUES(owner), claimed_at = VALUES(claimed_at)
