-- G27, G31: they may be taken at once.
UPDATE lockstep_broadcasts b FORCE INDEX (PRIMARY) SET b.owner = NULL, b.claimed_at = 0
	WHERE b.instance_id IN (/*each*/?/*end*/)
