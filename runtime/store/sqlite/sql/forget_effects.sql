-- G34: effects that failed for good go with the history of their time.
DELETE FROM lockstep_effects WHERE id IN (
	SELECT id FROM lockstep_effects WHERE state = 'failed' AND finished_at <= ? ORDER BY finished_at LIMIT ?)
