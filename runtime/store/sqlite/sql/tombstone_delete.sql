-- G28: this much of the history is gone.
DELETE FROM lockstep_tombstones WHERE instance_id = ? AND message_id = ?
