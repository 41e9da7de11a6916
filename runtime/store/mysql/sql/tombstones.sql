-- G28: whose history is still there; one that another process sweeps is skipped.
SELECT t.instance_id, t.message_id FROM lockstep_tombstones t LIMIT ?
FOR UPDATE SKIP LOCKED
