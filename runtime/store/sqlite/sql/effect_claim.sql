-- G23: the attempt is counted before it is made.
UPDATE lockstep_effects SET owner = ?, due_at = ?, attempts = attempts + 1 WHERE id = ?
