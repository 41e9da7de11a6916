-- G4, G5, G6: heads that are due and that nobody else holds, longest wait first.
SELECT r.instance_id, r.message_id
FROM lockstep_ready r CROSS JOIN lockstep_instances i ON i.id = r.instance_id
WHERE r.queue = '' AND r.priority = 0 AND r.due_at <= ?
	AND r.actor_type IN (SELECT value FROM json_each(?))
	AND r.instance_id NOT IN (SELECT value FROM json_each(?))
	AND (i.owner IS NULL OR i.lease_until <= ? OR i.owner = ?)
ORDER BY r.due_at
LIMIT ?
