-- G27: rows are their taker's until they are handed on or that claim lapses.
UPDATE lockstep_broadcasts b FORCE INDEX (PRIMARY) SET b.owner = ?, b.claimed_at = ?
	WHERE b.instance_id IN (/*each*/?/*end*/)
