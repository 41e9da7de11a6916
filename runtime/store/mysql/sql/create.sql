-- G2: one instance for each actor; who comes second waits here, in the order of the addresses, and finds the first's.
INSERT INTO lockstep_instances (id, actor_type, actor_id, created_at, last_used_at)
VALUES /*each*/(?, ?, ?, TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)), 0)/*end*/
ON DUPLICATE KEY UPDATE last_used_at = last_used_at
