-- G24: an executor that is at work keeps its effect.
UPDATE lockstep_effects SET due_at = ? WHERE id = ? AND owner = ? AND state = 'pending'
