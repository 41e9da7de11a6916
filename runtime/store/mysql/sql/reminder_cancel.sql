-- G25: a cancelled reminder enqueues nothing more.
DELETE r FROM (/*rows*/SELECT CAST(? AS BINARY) AS k, CAST(? AS BINARY) AS o, CAST(? AS BINARY) AS n/*end*/) v
	STRAIGHT_JOIN lockstep_reminders r ON r.instance_id = v.k AND r.operation = v.o AND r.reminder_key = v.n
