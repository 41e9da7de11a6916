-- Design 5: committed state with its stamp, in one row.
SELECT id, revision, message_id, broadcast_revision, state_version, state
FROM lockstep_instances WHERE actor_type = ? AND actor_id = ?
