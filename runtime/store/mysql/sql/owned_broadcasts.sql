-- G27, G31: a dead process's broadcasts; only what is not handed on yet, so the table is short.
SELECT b.instance_id FROM lockstep_broadcasts b WHERE b.owner = ?
FOR UPDATE SKIP LOCKED
