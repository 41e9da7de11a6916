-- G28: a destroyed actor is forgotten with the last of its history.
DELETE FROM lockstep.lockstep_tombstones t
WHERE t.instance_id = ANY ($1::text[])
	AND NOT EXISTS (SELECT 1 FROM lockstep.lockstep_messages m WHERE m.instance_id = t.instance_id)
