-- G1, G2: which mailboxes there are, by address.
SELECT i.id, i.actor_type, i.actor_id FROM lockstep_instances i FORCE INDEX (lockstep_instances_actor)
WHERE /*any*/(i.actor_type = ? AND i.actor_id = ?)/*end*/
