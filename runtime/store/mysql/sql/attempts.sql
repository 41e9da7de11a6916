-- G10, G16: the attempt is counted before actor code runs; every row is there, or the transaction is refused.
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, origin, max_attempts, enqueued_at, available_at,
	status,
	attempts)
VALUES /*each*/(?, '', 0, '', '', 0, 0, 0, 'live', ?)/*end*/
ON DUPLICATE KEY UPDATE
	attempts = VALUES(attempts)
