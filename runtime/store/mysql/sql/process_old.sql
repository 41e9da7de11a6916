-- G31: processes that stopped long ago.
SELECT id FROM lockstep_processes WHERE state = 'stopped' AND stopped_at <=
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) + ?
