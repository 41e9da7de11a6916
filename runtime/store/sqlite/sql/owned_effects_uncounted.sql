-- G31: effects handed back gracefully cost no attempt.
UPDATE lockstep_effects SET owner = NULL, due_at = ?, attempts = max(attempts - 1, 0) WHERE owner = ? AND state = 'pending'
