-- G23: whose effects they are.
SELECT i.id, i.actor_type, i.actor_id FROM lockstep_instances i FORCE INDEX (PRIMARY) WHERE i.id IN (/*each*/?/*end*/)
