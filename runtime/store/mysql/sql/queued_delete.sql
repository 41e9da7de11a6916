-- G5: the head is not behind the head.
DELETE q FROM (/*rows*/SELECT CAST(? AS BINARY) AS k, ? AS n/*end*/) v
	STRAIGHT_JOIN lockstep_queued q ON q.instance_id = v.k AND q.sequence = v.n
