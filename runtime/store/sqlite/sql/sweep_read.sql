-- G28: history goes in bounded batches.
SELECT sequence, previous FROM lockstep_messages WHERE id = ? AND instance_id = ?
