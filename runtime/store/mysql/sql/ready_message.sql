-- G30: the head that waits.
SELECT r.message_id FROM lockstep_ready r WHERE r.instance_id = ?
