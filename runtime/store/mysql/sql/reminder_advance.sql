-- G25: the advance commits with the occurrence.
UPDATE (/*rows*/SELECT ? AS next_at, ? AS due_at, CAST(? AS BINARY) AS k, CAST(? AS BINARY) AS o, CAST(? AS BINARY) AS n/*end*/) v
	STRAIGHT_JOIN lockstep_reminders r FORCE INDEX (PRIMARY) ON r.instance_id = v.k AND r.operation = v.o AND r.reminder_key = v.n
SET r.next_at = v.next_at, r.due_at = v.due_at
