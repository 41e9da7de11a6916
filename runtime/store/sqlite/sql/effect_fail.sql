-- G23: an effect that was given up is kept for operators.
UPDATE lockstep_effects SET state = 'failed', owner = NULL, finished_at = ?, error_kind = ?, error_text = ? WHERE id = ?
