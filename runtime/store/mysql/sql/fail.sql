-- G16: a failed attempt holds back the actor's later messages, or was the last; every row is there, or the transaction is refused.
INSERT INTO lockstep_messages (id, instance_id, sequence, operation, origin, max_attempts, enqueued_at, available_at,
	status,
	finished_at, error_kind, error_text)
VALUES /*each*/(?, '', 0, '', '', 0, 0, ?, ?, ?, ?, ?)/*end*/
ON DUPLICATE KEY UPDATE
	available_at = VALUES(available_at), status = VALUES(status), finished_at = VALUES(finished_at),
	error_kind = VALUES(error_kind), error_text = VALUES(error_text)
