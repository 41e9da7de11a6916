-- G27: the rows that newer ones absorb.
SELECT b.instance_id, b.id, b.previous, b.names, b.shared
FROM lockstep.lockstep_broadcasts b WHERE b.instance_id = ANY ($1::text[])
