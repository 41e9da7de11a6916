-- G23: another attempt, later.
UPDATE lockstep_effects SET owner = NULL, due_at = ?, attempts = attempts - ?, error_kind = ?, error_text = ? WHERE id = ?
