-- G6, G20: the head of one mailbox, if it is due.
SELECT r.message_id FROM lockstep_ready r WHERE r.instance_id = ? AND r.due_at <= ?
