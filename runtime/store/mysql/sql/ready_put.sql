-- G4: one row for each mailbox whose head waits.
INSERT INTO lockstep_ready (instance_id, sequence, message_id, actor_type, due_at)
VALUES /*each*/(?, ?, ?, ?, ?)/*end*/
ON DUPLICATE KEY UPDATE
	sequence = VALUES(sequence), message_id = VALUES(message_id), due_at = VALUES(due_at)
