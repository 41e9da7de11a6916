-- G28: history goes backwards, in bounded batches.
WITH RECURSIVE chain (id, sequence, previous, depth) AS (
	SELECT m.id, m.sequence, m.previous, 1 FROM lockstep_messages m WHERE m.id = ? AND m.instance_id = ?
	UNION ALL
	SELECT m.id, m.sequence, m.previous, c.depth + 1
	FROM chain c JOIN lockstep_messages m ON m.id = c.previous AND m.instance_id = ?
	WHERE c.depth < ?)
SELECT id, sequence, previous FROM chain ORDER BY depth
