-- G2: one instance for each actor; the unique index refuses a second.
INSERT INTO lockstep_instances (id, actor_type, actor_id, next_sequence, tail, created_at, last_used_at)
VALUES (?, ?, ?, 2, ?, ?, ?)
