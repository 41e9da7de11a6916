-- G5: the message that becomes the head.
SELECT message_id FROM lockstep_queued WHERE instance_id = ? ORDER BY sequence LIMIT 1
