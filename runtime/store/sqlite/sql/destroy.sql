-- G28: the incarnation ends.
DELETE FROM lockstep_instances WHERE actor_type = ? AND actor_id = ? RETURNING id
