-- G31: what a process holds, a bounded number at a time.
SELECT i.id FROM lockstep_instances i FORCE INDEX (lockstep_instances_owner) WHERE i.owner = ? AND i.id > ?
	ORDER BY i.id LIMIT ?
