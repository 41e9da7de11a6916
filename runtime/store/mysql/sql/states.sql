-- G6: the state comes along with a new activation.
SELECT i.id, i.state FROM lockstep_instances i FORCE INDEX (PRIMARY) WHERE i.id IN (/*each*/?/*end*/)
