-- D48: an earlier message of the same source to the same target goes first; these are the earliest that are not at hand.
SELECT f.instance_id, f.target_type, f.target_id, f.position, f.due_at
FROM (SELECT MIN(s.position) AS position FROM lockstep_sends s FORCE INDEX (lockstep_sends_pair)
		WHERE (/*any*/(s.instance_id = ? AND s.target_type = ? AND s.target_id = ?)/*end*/)
			AND s.position NOT IN (/*each*/?/*end*/) AND s.position < ?
		GROUP BY s.instance_id, s.target_type, s.target_id) p
	STRAIGHT_JOIN lockstep_sends f ON f.position = p.position
