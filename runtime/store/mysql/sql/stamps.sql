-- Design 5: what a hub compares with its marks.
SELECT i.actor_type, i.actor_id, i.id, i.broadcast_revision, i.broadcast_message_id, i.revision
FROM lockstep_instances i FORCE INDEX (lockstep_instances_actor)
WHERE /*any*/(i.actor_type = ? AND i.actor_id = ?)/*end*/
