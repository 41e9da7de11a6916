-- G6, G20: the head of one mailbox, if it is due and nobody else holds it.
SELECT r.instance_id, r.message_id
FROM lockstep_ready r CROSS JOIN lockstep_instances i ON i.id = r.instance_id
WHERE r.instance_id = ? AND r.due_at <= ? AND (i.owner IS NULL OR i.lease_until <= ? OR i.owner = ?)
