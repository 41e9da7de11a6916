-- D48: messages between actors that may be delivered.
SELECT s.position, s.target_type, s.target_id FROM lockstep_sends s FORCE INDEX (lockstep_sends_due)
WHERE s.due_at <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ? ORDER BY s.due_at,
	s.position LIMIT ?
