-- Design 5: what a hub compares with its mark.
SELECT id, broadcast_revision, broadcast_message_id, revision FROM lockstep_instances WHERE actor_type = ? AND actor_id = ?
