-- G27: rows that newer ones absorb.
SELECT b.instance_id, b.id, b.previous, b.names, b.shared
FROM lockstep_broadcasts b FORCE INDEX (PRIMARY) WHERE b.instance_id IN (/*each*/?/*end*/)
