-- G23: an effect that was given up is kept for operators.
UPDATE lockstep.lockstep_effects SET state = 'failed', owner = NULL, finished_at = $2::bigint, error_kind = $3::text, error_text = $4::text
WHERE id = $1::text
