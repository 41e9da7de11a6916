-- G31: whose beat is old.
SELECT id FROM lockstep_processes WHERE state <> 'stopped' AND id <> ? AND beat_at <=
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ? ORDER BY id
