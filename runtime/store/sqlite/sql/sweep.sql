-- G28: history goes in bounded batches.
DELETE FROM lockstep_messages WHERE id = ?
