-- G25: occurrences that are due, longest overdue first; nobody else fires them meanwhile.
SELECT r.id, r.instance_id, r.operation, r.arguments, r.interval, r.catch_up, r.next_at
FROM lockstep.lockstep_reminders r
WHERE r.due_at <= (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1::bigint)
ORDER BY r.due_at LIMIT $2::bigint
FOR UPDATE SKIP LOCKED
