-- G28: whose history is still there.
SELECT instance_id, message_id FROM lockstep_tombstones LIMIT ?
