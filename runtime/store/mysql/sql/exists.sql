-- Design 4: which of those that were not locked are only held by others.
SELECT i.id FROM lockstep_instances i FORCE INDEX (PRIMARY) WHERE i.id IN (/*each*/?/*end*/)
