-- G10: a message that was given back costs no attempt.
UPDATE lockstep_messages SET attempts = max(attempts - 1, 0) WHERE id = ?
