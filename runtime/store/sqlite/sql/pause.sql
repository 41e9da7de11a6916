-- G30: a paused actor keeps its mailbox.
UPDATE lockstep_instances SET paused_at = coalesce(paused_at, ?) WHERE actor_type = ? AND actor_id = ? RETURNING id
