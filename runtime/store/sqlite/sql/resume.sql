-- G30: a resumed actor drains in order.
UPDATE lockstep_instances SET paused_at = NULL WHERE actor_type = ? AND actor_id = ? RETURNING id
