-- G5: the head is not behind the head.
DELETE FROM lockstep_queued WHERE instance_id = ? AND sequence = ?
