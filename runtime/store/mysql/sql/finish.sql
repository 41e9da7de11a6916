-- G12, G15: messages end with their turns; every row is there, or the transaction is refused.
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, origin, max_attempts, enqueued_at, available_at,
	status,
	result, rejection, finished_at)
VALUES /*each*/(?, '', 0, '', '', 0, 0, 0, ?, ?, ?, ?)/*end*/
ON DUPLICATE KEY UPDATE
	status = VALUES(status), result = VALUES(result), rejection = VALUES(rejection),
	finished_at = VALUES(finished_at)
