-- G34, G30: what waits, by ranges of indexes up to a limit; the queues are those of the first mailboxes up to it.
WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint AS now)
SELECT (SELECT now FROM clock),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_ready WHERE queue = '' AND priority = 0
		AND due_at <= (SELECT now FROM clock) LIMIT $2::bigint) x),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_ready WHERE queue = '' AND priority = 0
		AND due_at > (SELECT now FROM clock) AND due_at < 9223372036854775807 LIMIT $2::bigint) x),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_ready WHERE queue = '' AND priority = 0
		AND due_at = 9223372036854775807 LIMIT $2::bigint) x),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_claimed LIMIT $2::bigint) x),
	(SELECT least(coalesce(sum(i.next_sequence - i.head_sequence - 1), 0), $2::bigint)::bigint FROM lockstep.lockstep_instances i
		WHERE i.id = ANY (ARRAY(SELECT instance_id FROM lockstep.lockstep_ready LIMIT $2::bigint)
			|| ARRAY(SELECT instance_id FROM lockstep.lockstep_claimed LIMIT $2::bigint))),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_effects WHERE state = 'pending'
		AND due_at <= (SELECT now FROM clock) LIMIT $2::bigint) x),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_effects WHERE state = 'pending' ORDER BY due_at LIMIT $2::bigint) x),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_effects WHERE state = 'failed' ORDER BY finished_at LIMIT $2::bigint) x),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_reminders WHERE due_at <= (SELECT now FROM clock) LIMIT $2::bigint) x),
	(SELECT count(*) FROM (SELECT 1 FROM lockstep.lockstep_sends WHERE due_at <= (SELECT now FROM clock) LIMIT $2::bigint) x),
	(SELECT count(*) FROM (SELECT replacement FROM lockstep.lockstep_dead_letters ORDER BY failed_at DESC, id DESC LIMIT $2::bigint) x
		WHERE replacement = ''),
	coalesce((SELECT due_at FROM lockstep.lockstep_ready WHERE queue = '' AND priority = 0
		AND due_at <= (SELECT now FROM clock) ORDER BY due_at LIMIT 1), 0),
	coalesce((SELECT due_at FROM lockstep.lockstep_effects WHERE state = 'pending'
		AND due_at <= (SELECT now FROM clock) ORDER BY due_at LIMIT 1), 0),
	coalesce((SELECT due_at FROM lockstep.lockstep_reminders WHERE due_at <= (SELECT now FROM clock) ORDER BY due_at LIMIT 1), 0),
	coalesce((SELECT due_at FROM lockstep.lockstep_sends WHERE due_at <= (SELECT now FROM clock) ORDER BY due_at LIMIT 1), 0)
