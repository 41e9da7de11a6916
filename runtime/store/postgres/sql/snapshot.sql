-- Design 5: committed state with its stamp, in one row.
SELECT id, revision, message_id, broadcast_revision, state_version, state
FROM lockstep.lockstep_instances WHERE actor_type = $1::text AND actor_id = $2::text
