-- G28: whose history is still there; two sweepers take different ones.
SELECT instance_id FROM lockstep.lockstep_tombstones ORDER BY instance_id LIMIT $1::bigint FOR UPDATE SKIP LOCKED
