-- G24, G31: a dead executor's effects may be taken at once.
UPDATE lockstep_effects SET owner = NULL, due_at = ? WHERE owner = ? AND state = 'pending'
